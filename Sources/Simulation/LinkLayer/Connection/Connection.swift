import BBPackets
import BBTiming

/// One end of an LE link. Core Vol 6, Part B, 4.5.
///
/// This class owns radio and timers and carries out decisions made elsewhere: the state of the link is in `LinkState`, its packets in
/// `PacketExchange`, its procedures in a `ProcedureEngine`.
final class Connection: RadioActivity {
    typealias Engine = ProcedureEngine<LinkLayerControl>

    private enum Phase {
        /// Between events.
        case idle
        case transmitting
        case listening
        /// The link has ended.
        case closed
    }

    let parameters: ConnectionParameters
    let configuration: ControllerConfiguration
    let air: Air
    let radio: Radio
    let rewriter: PacketRewriter
    private(set) unowned var delegate: (any ConnectionDelegate)?

    private(set) var state: LinkState
    private(set) var engine: Engine
    private(set) var packets = PacketExchange()
    private(set) var event: ConnectionEvent
    private(set) var statistics = LinkStatistics()
    private(set) var missedEvents = 0
    /// True after a PDU with an instant arrived, until the central is known to have its acknowledgement. Core Vol 6, Part B, 5.5.1.
    private(set) var awaitsConfirmation = false
    /// RSSI of the last received packet in dBm; 127 before the first.
    private(set) var rssi: Int8 = 127

    private var phase = Phase.idle
    private var nextEvent = 0
    private var responseDeadline: Microseconds?
    private var eventTimer: AirTimer!
    private var responseTimer: AirTimer!
    private var supervisionTimer: SupervisionTimer!
    private(set) var payloadTimer: SupervisionTimer!

    /// Creates and starts the link. Both ends are created at the end of CONNECT_IND (or of AUX_CONNECT_RSP).
    init(
        _ parameters: ConnectionParameters, configuration: ControllerConfiguration, defaults: LinkDefaults, radio: Radio,
        rewriter: PacketRewriter? = nil, delegate: any ConnectionDelegate
    ) {
        self.parameters = parameters
        self.radio = radio
        self.rewriter = rewriter ?? PacketRewriter(configuration.quirks)
        self.delegate = delegate
        air = radio.air
        self.configuration = configuration
        state = LinkState(
            parameters, configuration, defaults, now: radio.air.loop.now,
            secrets: radio.air.secrets(of: "link \(parameters.accessAddress) \(parameters.role)"))
        engine = Engine(instantOffset: configuration.quirks.instantOffset, faults: configuration.quirks.procedures)
        event = ConnectionEvent(channel: state.channels.channel(of: 0), nextAnchor: .never)
        eventTimer = AirTimer(on: air.loop) { [unowned self] in beginEvent() }
        responseTimer = AirTimer(on: air.loop) { [unowned self] in run { $0.timedOut(at: $1, &$2) } }
        supervisionTimer = SupervisionTimer(on: air.loop) { [unowned self] in
            state.timing.supervisionDeadline
        } expired: { [unowned self] in
            supervisionExpired()
        }
        payloadTimer = SupervisionTimer(on: air.loop) { [unowned self] in
            pingTime
        } expired: { [unowned self] in
            payloadTimerExpired()
        }
        if role == .peripheral { air.replyForecasts.add(self, for: parameters.accessAddress) }
        schedule(event: 0)
        supervisionTimer.start()
        if defaults.suggestedTxOctets > 27 || defaults.suggestedTxTime > 328 { request(LocalDataLengthUpdate()) }
    }

    deinit {
        radio.leave(ObjectIdentifier(self))
        air.replyForecasts.remove(ObjectIdentifier(self), for: parameters.accessAddress)
    }

    var isClosed: Bool { phase == .closed }

    /// True if no procedure, instant, timeout, data or control PDU is pending.
    var isAtRest: Bool {
        let hasTimers = eventTimer.isSet || supervisionTimer.isSet || payloadTimer.isSet
        return engine.isIdle && packets.isEmpty && !packets.isDataHeld && !responseTimer.isSet && hasTimers != isClosed
    }

    // MARK: Data

    /// Queues the data of one HCI ACL packet.
    ///
    /// - Parameter isStart: false if it continues an L2CAP PDU.
    func send(_ data: ArraySlice<UInt8>, isStart: Bool) {
        guard !isClosed else { return }
        guard !data.isEmpty else {
            delegate?.connection(self, completed: 1)
            return
        }
        packets.append(data, isStart: isStart)
        wake()
    }

    /// Queues a control PDU.
    ///
    /// - Parameter inClear: send it unencrypted even on an encrypted link.
    func send(control pdu: [UInt8], inClear: Bool = false, isAnnouncement: Bool = false) {
        guard !isClosed else { return }
        packets.append(control: pdu, inClear: inClear, isAnnouncement: isAnnouncement)
        wake()
    }

    /// Sends a PDU with any header before all others. Returns false while another one is unacknowledged.
    func inject(_ pdu: OutgoingPDU) -> Bool { !isClosed && packets.sendNext(pdu) }

    // MARK: Closing

    /// Ends the link without sending anything and without a delegate call, as a reset does.
    func abandon() {
        delegate = nil
        close(.success)
    }

    /// Ends the link and reports it.
    private func close(_ reason: ErrorCode) {
        guard !isClosed else { return }
        phase = .closed
        eventTimer.cancel()
        supervisionTimer.cancel()
        responseTimer.cancel()
        payloadTimer.cancel()
        engine.removeAll()
        packets.removeAll()
        radio.forget(self)
        if role == .peripheral { air.replyForecasts.remove(ObjectIdentifier(self), for: parameters.accessAddress) }
        delegate?.connection(self, disconnected: reason)
    }

    /// The supervision timeout has expired. Core Vol 6, Part B, 4.5.2.
    private func supervisionExpired() {
        guard !configuration.quirks.ignoresSupervisionTimeout else { return }
        guard !engine.isTerminating else { return close(.connectionTerminatedByLocalHost) }
        close(state.timing.isEstablished ? .connectionTimeout : .connectionFailedToBeEstablished)
    }

    // MARK: Procedures

    /// Starts a procedure after those requested earlier.
    func request(_ procedure: some LinkProcedure) { run { $0.request(procedure, at: $1, &$2) } }

    /// Handles a reply of the host. Returns false if no procedure awaits it.
    func reply(_ reply: LinkLayerControl.HostReply) -> Bool {
        guard let outputs = engine.hostReplied(reply, at: air.loop.now, &state) else { return false }
        perform(outputs)
        return true
    }

    /// Applies a change that affects this end only, such as the host's preferences.
    func apply(_ change: LinkChange) {
        for report in state.apply(change, at: nil).reports { delegate?.connection(self, reports: report) }
    }

    /// Carries out a step of the procedure engine.
    func run(_ step: (inout Engine, Microseconds, inout LinkState) -> [Engine.Output]) {
        guard !isClosed else { return }
        perform(step(&engine, air.loop.now, &state))
    }

    private func perform(_ outputs: [Engine.Output]) {
        for output in outputs {
            guard !isClosed else { return }
            switch output {
            case .send(let pdu): sendAsRuled(pdu)
            case .announce(let pdu): sendAsRuled(pdu, isAnnouncement: true)
            case .changed(.timing): supervisionTimer.start()
            case .changed(.encryption(let step)): follow(step)
            case .changed: break
            case .report(let report): delegate?.connection(self, reports: report)
            case .disconnect(let reason): close(reason)
            }
        }
        guard !isClosed else { return }
        followEngine()
    }

    /// Updates the data hold, the packet size limit and the response timer from the state of the procedure engine.
    private func followEngine() {
        let pendingParameters = engine.pendingParameters
        if pendingParameters != state.pendingParameters { state.pendingParameters = pendingParameters }
        if packets.isDataHeld != holdsData {
            packets.isDataHeld = holdsData
            wake()
        }
        guard responseDeadline != engine.deadline else { return }
        responseDeadline = engine.deadline
        if let responseDeadline { responseTimer.set(at: responseDeadline) } else { responseTimer.cancel() }
    }

    // MARK: Events. Core Vol 6, Part B, 4.5.1

    private func schedule(event number: Int) {
        nextEvent = number
        let start = max(state.timing.start(of: number), air.loop.now)
        radio.reserve(self, at: start)
        eventTimer.set(at: start)
    }

    private func beginEvent() {
        guard phase == .idle else { return }
        let now = air.loop.now
        if nextEvent != state.timing.eventCounter {
            state.timing.begin(event: nextEvent)
            reachInstants(of: nextEvent)
            guard !isClosed else { return }
        }
        let number = nextEvent
        guard state.timing.start(of: number) <= now else { return schedule(event: number) }
        statistics.events += 1
        event = ConnectionEvent(channel: channel(of: number), nextAnchor: state.timing.anchor(of: number + 1))
        guard state.timing.latestStart(of: number) >= now, radio.acquire(self) else { return miss() }
        switch role {
        case .central: beginExchange(at: now)
        case .peripheral:
            let expected = state.timing.anchor(of: number)
            let widening = state.timing.widening(of: number)
            listen(from: expected - widening, until: expected + state.timing.transmitWindow + widening)
        }
    }

    private func reachInstants(of event: Int) {
        while !isClosed, let outputs = engine.reachInstant(event, at: air.loop.now, &state) { perform(outputs) }
    }

    private func miss() {
        missedEvents += 1
        statistics.missedEvents += 1
        if nextEvent <= state.timing.eventCounter { schedule(event: state.timing.eventCounter + 1) }
    }

    /// - Parameter ending: for statistics. A peripheral only counts events that ended in silence; the central knows the reason for the
    ///   others.
    private func closeEvent(_ ending: ConnectionEvent.Ending? = nil) {
        guard !isClosed else { return }
        if let ending { statistics.count(ending) }
        phase = .idle
        if event.hasHeardIntact { missedEvents = 0 } else { missedEvents += 1 }
        statistics.mostExchanges = max(statistics.mostExchanges, event.exchanges)
        radio.release(self)
        guard nextEvent <= state.timing.eventCounter else { return }
        // A PDU may name the event that carries it as its instant.
        reachInstants(of: state.timing.eventCounter)
        guard !isClosed else { return }
        schedule(event: followingEvent)
    }

    /// Called when data is queued: a peripheral that skips events takes part in the next one.
    private func wake() {
        if phase == .idle, let earlier = event(before: nextEvent) { schedule(event: earlier) }
    }

    func preempted() {
        guard !isClosed else { return }
        phase = .idle
        miss()
    }

    // MARK: Sending

    /// Sends this device's packet of an exchange: the unacknowledged PDU or the next one.
    ///
    /// - Parameter allowsData: false to send an empty PDU because new data would take too long.
    private func beginExchange(at start: Microseconds, isExtra: Bool = false, allowsData: Bool = true) {
        event.countExchange(isExtra: isExtra)
        statistics.exchanges += 1
        if packets.isAboutToAnnounce {
            // The instant is settled now, because the PDU may have waited. Core Vol 6, Part B, 5.5.
            let delay = engine.announces(noEarlierThan: state.earliestInstant)
            packets.changeAnnouncement { LinkLayerControl.postponed($0, by: delay) }
        }
        let (pdu, isRetransmission) = packets.next(limit: state.payloadLimit, allowsData: allowsData, &state.encryption)
        if isRetransmission { statistics.retransmissions += 1 }
        event.hasMoreToSend = packets.hasMore && !isLastExchange
        if configuration.quirks.sequenceNumberIsStuck { packets.repeatSequenceNumber(for: pdu) }
        phase = .transmitting
        var packet = LEPacket(
            AirPDU(header: packets.header(of: pdu, moreData: event.hasMoreToSend), payload: pdu.payload), tuning(state.phys.transmit),
            phy: state.airPHY, kind: role == .central ? .dataFromCentral : .dataFromPeripheral, crcOctets: configuration.quirks.crcOctets)
        packet.clear = pdu.clear
        radio.transmit(packet, at: start)
    }

    func transmitted(at end: Microseconds) {
        if !engine.isIdle { run { $0.acknowledgementSent(at: $1, &$2) } }
        guard !isClosed else { return }
        if configuration.quirks.neverRetransmits { packets.forgetOutstanding() }
        switch role {
        case .central: listen(from: end + interFrameSpace - activeClockTolerance, until: end + interFrameSpace + activeClockTolerance)
        case .peripheral:
            let next = end + interFrameSpace
            guard mayHearMore(at: next) else { return closeEvent() }
            listen(from: next - activeClockTolerance, until: next + activeClockTolerance)
        }
    }

    /// As central, starts another exchange, or closes the event.
    private func continueEvent(at start: Microseconds) {
        switch continuation(at: start) {
        case .ends(let ending): closeEvent(ending)
        case .exchange(let isExtra): beginExchange(at: start, isExtra: isExtra)
        }
    }

    // MARK: Receiving

    private func listen(from start: Microseconds, until end: Microseconds) {
        phase = .listening
        radio.listen(tuning(state.phys.receive), from: start, until: end)
    }

    func windowClosed() { closeEvent(.silent) }

    func received(_ reception: Reception) {
        guard phase == .listening else { return }
        rssi = reception.rssi
        if role == .peripheral, event.exchanges == 0 {
            state.timing.synchronise(to: reception.start)
            event.nextAnchor = state.timing.anchor(of: state.timing.eventCounter + 1)
        }
        if reception.isIntact {
            event.heardIntact(reception.pdu.header)
            accept(reception)
        } else {
            statistics.corruptPackets += 1
            event.heardCorrupt()
        }
        guard !isClosed else { return }
        guard !event.hasFailed else { return closeEvent(.silent) }
        let start = reception.end + configuration.quirks.interFrameSpace
        switch role {
        case .central: continueEvent(at: start)
        case .peripheral: beginExchange(at: start, allowsData: event.exchanges == 0 || fitsReply(at: start))
        }
    }

    /// Handles an intact packet.
    private func accept(_ reception: Reception) {
        let isFirst = !state.timing.isEstablished
        state.timing.heard(at: reception.end)
        if isFirst {
            supervisionTimer.start()
            delegate?.connectionEstablished(self)
        }
        let pdu = reception.pdu
        let (acknowledged, isNew) = packets.received(pdu.header)
        if let acknowledged { complete(acknowledged) }
        guard isNew || state.encryption.opensRepetitions && !pdu.payload.isEmpty, !isClosed else { return }
        // A new packet of the central shows that it has received the acknowledgement.
        awaitsConfirmation = false
        guard !pdu.payload.isEmpty else { return }
        guard let payload = state.encryption.open(pdu, at: reception.end) else { return close(.connectionTerminatedDueToMICFailure) }
        switch pdu.header & 3 {
        case LLID.control: receivedControl(payload)
        case LLID.start, LLID.continuation:
            if let violation = engine.violation, !configuration.quirks.encryption.contains(.takesAnythingWhileStarting) {
                return close(violation)
            }
            if !payload.isEmpty { delegate?.connection(self, received: payload, isStart: pdu.header & 3 == LLID.start) }
        default: break
        }
    }

    private func receivedControl(_ payload: ArraySlice<UInt8>) {
        let instant = engine.nextInstant
        takeAsRuled(payload)
        awaitsConfirmation = engine.nextInstant != instant
    }

    private func complete(_ kind: OutgoingPDU.Kind) {
        switch kind {
        case .empty: break
        case .data(let endsPacket):
            statistics.dataPDUs += 1
            if endsPacket { delegate?.connection(self, completed: 1) }
        case .control(let opcode): run { $0.acknowledged(opcode, at: $1, &$2) }
        }
    }
}
