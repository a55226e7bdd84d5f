import Packets
import Timing

/// What an advertiser asks and tells the controller it belongs to.
protocol AdvertiserDelegate: AnyObject {
    /// - Parameter filtered: whether the filter accept list counts.
    func advertiser(_ advertiser: Advertiser, accepts address: DeviceAddress, filtered: Bool) -> Bool
    /// The addresses of an event that begins, where they are private: the advertiser's, and whom directed advertising is for.
    func privateAddresses(of advertiser: Advertiser) -> (own: DeviceAddress?, target: DeviceAddress?)
    /// The channels that auxiliary packets may use.
    func secondaryChannels(for advertiser: Advertiser) -> [UInt8]
    func advertiser(_ advertiser: Advertiser, scanRequestFrom address: DeviceAddress)
    /// A valid request to connect arrived and was answered, if it had to be; the advertiser has stopped.
    func advertiser(_ advertiser: Advertiser, connected request: ConnectRequest, over link: NewLink)
    /// The time or the events allowed are used up; the advertiser has stopped.
    func advertiser(_ advertiser: Advertiser, ended reason: ErrorCode)
}

/// How a request to connect went over the air.
struct NewLink {
    /// The end of CONNECT_IND or AUX_CONNECT_REQ, from which the transmit window counts.
    var requestEnd: Microseconds
    var phy: PHY
    var isExtended: Bool
    /// Whether both sides can do channel selection algorithm #2.
    var usesAlgorithm2: Bool

    /// Core Vol 6, Part B, 4.5.3.
    var transmitWindowDelay: Microseconds { !isExtended ? 1_250 : phy == .leCoded ? 3_750 : 2_500 }
}

/// One advertising set at work: its advertising events, and the answers within them. Core Vol 6, Part B, 4.4.2.
final class Advertiser: RadioActivity {
    enum Phase: Equatable {
        case waitingForEvent
        case waitingForRadio
        /// Sending on the primary channel of this index among those used.
        case primary(Int)
        /// Listening for SCAN_REQ or CONNECT_IND after the PDU on that channel.
        case primaryAwaitingRequest(Int)
        case sendingScanResponse(Int)
        /// Sending part n of the auxiliary packets.
        case auxiliary(Int)
        case auxiliaryAwaitingRequest
        /// Sending part n of the answer to AUX_SCAN_REQ.
        case auxiliaryScanResponse(Int)
        case sendingConnectResponse
    }

    var set: AdvertisingSet
    /// The sender's address; a private one changes from time to time.
    private(set) var ownAddress: DeviceAddress
    /// What directed advertising calls the peer.
    private(set) var target: DeviceAddress
    /// Whether the host uses the commands for advertising sets.
    let isExtendedCommand: Bool
    let radio: Radio
    let quirks: ControllerQuirks
    unowned let delegate: any AdvertiserDelegate
    var phase = Phase.waitingForEvent
    /// Events begun and ended.
    private(set) var completedEvents = 0
    var random: RandomSource
    var plan = ExtendedEventPlan()
    /// What the peer asked for, kept while AUX_CONNECT_RSP is on its way.
    var pendingConnection: (request: ConnectRequest, link: NewLink)?

    private let maxEvents: UInt8
    /// The range of advDelay, in microseconds.
    private let advertisingDelay: ClosedRange<Int64>
    /// Of the packet that was sent last.
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
    ///   - duration: zero to go on until stopped.
    ///   - maxEvents: zero for no limit.
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

    /// Ends advertising; nothing is told to the delegate any more.
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

    /// The event is over, in full or cut short.
    func endEvent() {
        completedEvents += 1
        radio.release(self)
        guard !isStopped else { return }
        if maxEvents > 0, completedEvents >= Int(maxEvents) { return end(.limitReached) }
        if loop.now >= deadline { return end(.advertisingTimeout) }
        scheduleEvent(at: max(loop.now, nextEventStart))
    }

    /// High duty cycle repeats each channel every 3.75 ms; all else waits for the interval and advDelay. Core Vol 6, Part B, 4.4.2.2 and 4.4.2.4.
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

    /// Listens for a request T_IFS after the packet that was sent, on its channel.
    func awaitRequest(after end: Microseconds) {
        let due = end + interFrameSpace
        radio.listen(tuning, from: due - activeClockTolerance, until: due + activeClockTolerance)
    }

    // MARK: Filters

    /// Whether a request names this advertiser, and comes from somebody it may be answered to.
    func accepts(_ pdu: AdvertisingPDU, filtered: Bool) -> Bool {
        guard let sender = pdu.sender, pdu.receiver == ownAddress else { return false }
        return delegate.advertiser(self, accepts: sender, filtered: filtered)
    }

    func noteScanRequest(_ pdu: AdvertisingPDU) {
        guard set.parameters.notifiesScanRequests, let sender = pdu.sender else { return }
        delegate.advertiser(self, scanRequestFrom: sender)
    }
}
