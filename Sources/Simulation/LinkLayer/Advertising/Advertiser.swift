import BBPackets
import BBTiming

/// Callbacks from an advertiser to its controller.
protocol AdvertiserDelegate: AnyObject {
    /// - Parameter filtered: true if the filter accept list applies.
    func advertiser(_ advertiser: Advertiser, accepts address: DeviceAddress, filtered: Bool) -> Bool
    /// The private addresses of an event that is about to start: the advertiser's own and the target of directed advertising; nil if not
    /// private.
    func privateAddresses(of advertiser: Advertiser) -> (own: DeviceAddress?, target: DeviceAddress?)
    /// Channels that auxiliary packets may use.
    func secondaryChannels(for advertiser: Advertiser) -> [UInt8]
    /// SyncInfo for a packet from `start` of an event that ends at `end`; nil if the set has no train.
    func syncInfo(of advertiser: Advertiser, from start: Microseconds, after end: Microseconds) -> SyncInfo?
    func advertiser(_ advertiser: Advertiser, scanRequestFrom address: DeviceAddress)
    /// AdvA of AUX_CONNECT_RSP.
    func advertiser(_ advertiser: Advertiser, addressFor initiator: DeviceAddress) -> DeviceAddress
    /// A valid connection request arrived, and AUX_CONNECT_RSP was sent if needed; the advertiser has stopped.
    func advertiser(_ advertiser: Advertiser, connected request: ConnectRequest, over link: NewLink)
    /// The duration or maximum number of events was reached; the advertiser has stopped.
    func advertiser(_ advertiser: Advertiser, ended reason: ErrorCode)
}

/// Timing and PHY of a connection request on the air.
struct NewLink {
    /// End of CONNECT_IND or AUX_CONNECT_REQ, from which the transmit window offset counts.
    var requestEnd: Microseconds
    var phy: PHY
    var isExtended: Bool
    /// True if both devices support channel selection algorithm #2.
    var usesAlgorithm2: Bool

    /// Value of transmitWindowDelay, in microseconds. Core Vol 6, Part B, 4.5.3.
    var transmitWindowDelay: Microseconds { !isExtended ? 1_250 : phy == .leCoded ? 3_750 : 2_500 }
}

/// An enabled advertising set: sends advertising events and receives requests in them. Core Vol 6, Part B, 4.4.2.
final class Advertiser: RadioActivity {
    enum Phase: Equatable {
        case waitingForEvent
        case waitingForRadio
        /// Sending on the n-th of the used primary channels.
        case primary(Int)
        /// Listening for SCAN_REQ or CONNECT_IND after the PDU on that channel.
        case primaryAwaitingRequest(Int)
        case sendingScanResponse(Int)
        /// Sending part n of the auxiliary chain.
        case auxiliary(Int)
        case auxiliaryAwaitingRequest
        /// Sending part n of the response to AUX_SCAN_REQ.
        case auxiliaryScanResponse(Int)
        case sendingConnectResponse
    }

    var set: AdvertisingSet
    /// AdvA; a private address changes from time to time.
    private(set) var ownAddress: DeviceAddress
    /// TargetA of directed advertising.
    private(set) var target: DeviceAddress
    /// True if the host uses the extended advertising commands.
    let isExtendedCommand: Bool
    let radio: Radio
    let quirks: ControllerQuirks
    unowned let delegate: any AdvertiserDelegate
    var phase = Phase.waitingForEvent
    /// Number of completed events.
    private(set) var completedEvents = 0
    var random: RandomSource
    var plan = ExtendedEventPlan()
    /// The connection request, kept while AUX_CONNECT_RSP is being sent.
    var pendingConnection: (request: ConnectRequest, link: NewLink)?

    private let maxEvents: UInt8
    /// Range of advDelay, in microseconds.
    private let advertisingDelay: ClosedRange<Int64>
    /// Tuning of the last packet sent.
    private var tuning = Tuning(channel: 37, phy: .le1M)
    private var eventStart: Microseconds = .zero
    private var missed = 0
    private var isStopped = false
    private var deadline = Microseconds.never
    private var eventTimer: AirTimer!
    private var durationTimer: AirTimer!

    var loop: RunLoop { radio.air.loop }
    var priority: Int { RadioPriority.advertising + missed }

    /// - Parameters:
    ///   - duration: 0 to advertise until stopped.
    ///   - maxEvents: 0 for no limit.
    init(
        _ set: AdvertisingSet, ownAddress: DeviceAddress, isExtendedCommand: Bool, duration: Microseconds, maxEvents: UInt8, radio: Radio,
        quirks: ControllerQuirks, advertisingDelay: ClosedRange<Int64> = 0...10_000, random: RandomSource, delegate: any AdvertiserDelegate
    ) {
        self.set = set
        self.ownAddress = ownAddress
        target = set.parameters.peer
        self.isExtendedCommand = isExtendedCommand
        self.radio = radio
        self.quirks = quirks
        self.random = random
        self.delegate = delegate
        self.maxEvents = maxEvents
        self.advertisingDelay = advertisingDelay
        eventTimer = AirTimer(on: radio.air.loop) { [unowned self] in beginEvent() }
        durationTimer = AirTimer(on: radio.air.loop) { [unowned self] in durationOver() }
        if duration > 0 { deadline = loop.now + duration }
    }

    func start() {
        if deadline != .never { durationTimer.set(at: deadline) }
        scheduleEvent(at: loop.now)
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    /// Stops advertising without further delegate calls.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        eventTimer.cancel()
        durationTimer.cancel()
        radio.forget(self)
    }

    // MARK: Events

    private func scheduleEvent(at start: Microseconds) {
        phase = .waitingForEvent
        radio.reserve(self, at: start)
        eventTimer.set(at: start)
    }

    private func beginEvent() {
        guard !isStopped else { return }
        eventStart = loop.now
        radio.reserve(self, at: nil)
        guard radio.acquire(self) else {
            phase = .waitingForRadio
            missed += 1
            radio.wait(self)
            return
        }
        runEvent()
    }

    private func runEvent() {
        missed = 0
        let addresses = delegate.privateAddresses(of: self)
        ownAddress = addresses.own ?? ownAddress
        target = addresses.target ?? set.parameters.peer
        if set.parameters.properties.legacy { sendLegacy(0, at: loop.now) } else { beginExtendedEvent() }
    }

    func radioIsFree() {
        guard phase == .waitingForRadio, !isStopped, radio.acquire(self) else {
            if phase == .waitingForRadio { radio.wait(self) }
            return
        }
        runEvent()
    }

    /// Ends the event, complete or not.
    func endEvent() {
        completedEvents += 1
        radio.release(self)
        guard !isStopped else { return }
        if maxEvents > 0, completedEvents >= Int(maxEvents) { return end(.limitReached) }
        if loop.now >= deadline { return end(.advertisingTimeout) }
        scheduleEvent(at: max(loop.now, nextEventStart))
    }

    /// High duty cycle advertising repeats each channel every 3.75 ms; other events wait for the interval and advDelay. Core Vol 6, Part B,
    /// 4.4.2.2 and 4.4.2.4.
    private var nextEventStart: Microseconds {
        if set.parameters.properties.highDuty { return eventStart + 3_750 }
        let delay = quirks.hasNoAdvertisingDelay ? 0 : Int64.random(in: advertisingDelay, using: &random)
        return eventStart + set.interval(ownAddress) + Microseconds(delay)
    }

    private func durationOver() {
        switch phase {
        case .waitingForEvent, .waitingForRadio: end(.advertisingTimeout)
        default: break
        }
    }

    private func end(_ reason: ErrorCode) {
        stop()
        delegate.advertiser(self, ended: reason)
    }

    func connect(_ request: ConnectRequest, _ link: NewLink) {
        completedEvents += 1
        stop()
        delegate.advertiser(self, connected: request, over: link)
    }

    // MARK: Radio

    func transmitted(at end: Microseconds) {
        switch phase {
        case .primary(let index):
            if set.parameters.properties.legacy {
                legacySent(index, at: end)
            } else {
                sendExtendedPrimary(index + 1)
            }
        case .sendingScanResponse(let index): sendNextLegacy(after: index)
        case .auxiliary(let part): auxiliarySent(part, at: end)
        case .auxiliaryScanResponse(let part): scanResponseSent(part)
        case .sendingConnectResponse:
            if let pending = pendingConnection { connect(pending.request, pending.link) }
        case .waitingForEvent, .waitingForRadio, .primaryAwaitingRequest, .auxiliaryAwaitingRequest: break
        }
    }

    func received(_ reception: Reception) {
        let pdu = reception.isIntact ? AdvertisingPDU(reception.pdu) : nil
        switch phase {
        case .primaryAwaitingRequest(let index): receivedLegacy(pdu, reception, index)
        case .auxiliaryAwaitingRequest: receivedAuxiliary(pdu, reception)
        default: break
        }
    }

    func windowClosed() {
        switch phase {
        case .primaryAwaitingRequest(let index): sendNextLegacy(after: index)
        case .auxiliaryAwaitingRequest: endEvent()
        default: break
        }
    }

    func preempted() {
        guard !isStopped else { return }
        endEvent()
    }

    func send(_ pdu: AirPDU, _ tuning: Tuning, phy: AirPHY, at start: Microseconds) {
        self.tuning = tuning
        let packet = LEPacket(pdu, tuning, phy: phy, power: set.parameters.txPower, crcOctets: quirks.crcOctets)
        radio.transmit(packet, at: start)
    }

    /// Listens for a request T_IFS after the last packet, on the same channel.
    func awaitRequest(after end: Microseconds) {
        let due = end + interFrameSpace
        radio.listen(tuning, from: due - activeClockTolerance, until: due + activeClockTolerance)
    }

    // MARK: Filters

    /// True if a request names this advertiser and the filter policy accepts its sender.
    func accepts(_ pdu: AdvertisingPDU, filtered: Bool) -> Bool {
        guard let sender = pdu.sender, pdu.receiver == ownAddress else { return false }
        return delegate.advertiser(self, accepts: sender, filtered: filtered)
    }

    func noteScanRequest(_ pdu: AdvertisingPDU) {
        guard set.parameters.notifiesScanRequests, let sender = pdu.sender else { return }
        delegate.advertiser(self, scanRequestFrom: sender)
    }
}
