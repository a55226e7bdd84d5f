import BBPackets
import BBTiming

/// One PDU of a train as received.
struct PeriodicReport {
    var txPower: Int8?
    var rssi: Int8
    var status: AdvertisingReport.DataStatus
    var data: [UInt8]
}

protocol PeriodicSyncDelegate: AnyObject {
    /// The first AUX_SYNC_IND arrived.
    func syncEstablished(_ sync: PeriodicSync)
    /// None of the first events was heard; the sync has stopped.
    func syncFailed(_ sync: PeriodicSync)
    /// Nothing was heard for the timeout; the sync has stopped.
    func syncLost(_ sync: PeriodicSync)
    func sync(_ sync: PeriodicSync, heard report: PeriodicReport)
}

/// Synchronisation with a periodic advertising train. Core Vol 6, Part B, 4.4.3.4.
final class PeriodicSync: RadioActivity {
    /// The train, as its advertiser announced it.
    struct Train {
        var advertiser: KnownDevice
        var sid: UInt8
        var phy: PHY
        var info: SyncInfo
    }

    /// Sync_Handle.
    let handle: UInt16
    let train: Train
    /// Number of events that may be skipped after each one that was heard.
    private let skip: Int
    private let timeout: Microseconds
    private let accuracy: Int
    private let quirks: PeriodicQuirks
    private let radio: Radio
    private unowned let delegate: any PeriodicSyncDelegate
    private let selection: ChannelSelectionAlgorithm2
    private var channels: ChannelMap
    private var update: PeriodicChannelMapUpdate?
    private var clock: AnchorClock
    private var event = 0
    /// Time within which AUX_SYNC_IND may start, beside the clocks' deviation; 0 once an anchor point is known.
    private var slack: Microseconds
    private var lastAnchor: Microseconds
    private(set) var isEstablished = false
    private var isStopped = false
    private var failures = 0
    private var missed = 0
    /// The announced part of a chain; nil while AUX_SYNC_IND is awaited.
    private var chain: AuxiliaryPointer?
    private var timer: AirTimer!
    private var lossTimer: AirTimer!

    /// Number of events in which a sync must be established. Core Vol 6, Part B, 4.4.3.4.
    private static let eventsToEstablish = 6
    /// Time before a packet at which the receiver must be ready.
    private static let lead: Microseconds = 20

    private var loop: RunLoop { radio.air.loop }
    var priority: Int { RadioPriority.periodicAdvertising + missed }

    /// - Parameters:
    ///   - start: start of the packet with SyncInfo.
    ///   - configuration: the receiver, whose clock measures the train.
    init(
        _ handle: UInt16, with train: Train, from start: Microseconds, skip: Int, timeout: Microseconds, radio: Radio,
        configuration: ControllerConfiguration, delegate: any PeriodicSyncDelegate
    ) {
        self.handle = handle
        self.train = train
        // Six attempts are left before the timeout.
        self.skip = min(skip, max(0, timeout / train.info.interval - Self.eventsToEstablish))
        self.timeout = timeout
        self.radio = radio
        self.delegate = delegate
        accuracy = configuration.clockAccuracy + train.info.clockAccuracy
        quirks = configuration.quirks.periodic
        selection = ChannelSelectionAlgorithm2(accessAddress: train.info.accessAddress)
        channels = train.info.channels
        clock = AnchorClock(first: start + train.info.offset, interval: train.info.interval, drift: configuration.clockDrift)
        slack = train.info.unit
        lastAnchor = start
        timer = AirTimer(on: radio.air.loop) { [unowned self] in listen() }
        lossTimer = AirTimer(on: radio.air.loop) { [unowned self] in lost() }
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    func start() { schedule() }

    /// Stops without further callbacks.
    func stop() {
        isStopped = true
        timer.cancel()
        lossTimer.cancel()
        radio.forget(self)
    }

    // MARK: Events

    private func counter(of event: Int) -> UInt16 { train.info.counter &+ UInt16(truncatingIfNeeded: event) }

    private func widening(of event: Int) -> Microseconds {
        AnchorClock.widening(after: clock.anchor(of: event) - lastAnchor, accuracy: accuracy, interval: train.info.interval)
    }

    private func opening(of event: Int) -> Microseconds { clock.anchor(of: event) - widening(of: event) - activeClockTolerance }

    private func schedule() {
        chain = nil
        let opening = opening(of: event)
        radio.reserve(self, at: opening)
        timer.set(at: opening - Self.lead)
    }

    private func listen() {
        radio.reserve(self, at: nil)
        adopt()
        guard radio.acquire(self) else {
            missed += 1
            return miss()
        }
        let channel = selection.channel(counter: counter(of: event), map: channels)
        let end = clock.anchor(of: event) + slack + widening(of: event) + activeClockTolerance
        radio.listen(tuning(channel, train.phy), from: opening(of: event), until: end)
    }

    private func tuning(_ channel: ChannelIndex, _ phy: PHY) -> Tuning {
        Tuning(channel: channel, phy: phy, accessAddress: train.info.accessAddress, crcInit: train.info.crcInit)
    }

    /// Uses an announced channel map at its instant, or after it if that event was skipped.
    private func adopt() {
        guard let update, Int16(bitPattern: counter(of: event) &- update.instant) >= 0 else { return }
        channels = update.channels
        self.update = nil
    }

    /// No AUX_SYNC_IND arrived in this event.
    private func miss() {
        if !isEstablished {
            failures += 1
            if failures == Self.eventsToEstablish {
                stop()
                return delegate.syncFailed(self)
            }
        }
        event += 1
        schedule()
    }

    private func lost() {
        stop()
        delegate.syncLost(self)
    }

    // MARK: Radio

    func received(_ reception: Reception) {
        let header = reception.isIntact ? AdvertisingPDU(reception.pdu).flatMap { $0.type == .extended ? ExtendedHeader($0) : nil } : nil
        guard chain == nil else { return receivedPart(header, reception) }
        guard let header else {
            radio.release(self)
            return miss()
        }
        clock.rebase(to: reception.start, event: event)
        lastAnchor = reception.start
        slack = .zero
        if !quirks.contains(.ignoresTrainChannels) { update = PeriodicChannelMapUpdate(acad: header.acad) ?? update }
        lossTimer.set(at: reception.end + timeout)
        if !isEstablished {
            isEstablished = true
            delegate.syncEstablished(self)
            if isStopped { return }
        }
        deliver(header, reception)
    }

    private func receivedPart(_ header: ExtendedHeader?, _ reception: Reception) {
        guard let header else { return truncate() }
        deliver(header, reception)
    }

    /// Reports a PDU's data and listens for the next part of the chain.
    private func deliver(_ header: ExtendedHeader, _ reception: Reception) {
        chain = header.auxiliaryPointer
        delegate.sync(
            self,
            heard: PeriodicReport(
                txPower: header.txPower, rssi: reception.rssi, status: chain == nil ? .complete : .moreToCome, data: header.data))
        guard let chain else { return endEvent() }
        let start = reception.start + chain.offset
        radio.listen(
            tuning(ChannelIndex(chain.channel), chain.phy), from: start - activeClockTolerance,
            until: start + chain.unit + activeClockTolerance)
    }

    /// The rest of a chain did not arrive; the sync goes on.
    private func truncate() {
        delegate.sync(self, heard: PeriodicReport(txPower: nil, rssi: 127, status: .truncated, data: []))
        endEvent()
    }

    private func endEvent() {
        missed = 0
        radio.release(self)
        event += 1 + skip
        schedule()
    }

    func windowClosed() {
        guard chain == nil else { return truncate() }
        radio.release(self)
        miss()
    }

    func preempted() {
        missed += 1
        guard chain == nil else {
            delegate.sync(self, heard: PeriodicReport(txPower: nil, rssi: 127, status: .truncated, data: []))
            event += 1
            return schedule()
        }
        miss()
    }
}
