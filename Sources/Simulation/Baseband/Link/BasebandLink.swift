import BBPackets
import BBTiming

/// Events of a link, besides those for the link manager. All calls are on the loop.
protocol BasebandLinkDelegate: AnyObject {
    /// The first packet of the peer was received.
    func linkEstablished(_ link: BasebandLink)
    /// No packet was received within newconnectionTO; the link is closed.
    func linkFailed(_ link: BasebandLink)
    /// - Parameter isStart: true if the data starts an L2CAP message (LLID 2), false if it continues one (LLID 1).
    func link(_ link: BasebandLink, received data: ArraySlice<UInt8>, isStart: Bool)
    /// An LT_ADDR for the peer as it becomes a peripheral, or for an eSCO transport; nil if none is free.
    func freeLTAddr(for link: BasebandLink) -> UInt8?
    /// - Parameters:
    ///   - voice: data of one synchronous packet, or silence.
    ///   - isCorrect: false if the packet was missing or corrupted.
    ///   - id: number of the transport.
    func link(_ link: BasebandLink, voice: ArraySlice<UInt8>, isCorrect: Bool, of id: UInt8)
    /// All synchronous transports that compete for slots with one of this link, including the link's own.
    func synchronousLinks(beside link: BasebandLink) -> [SynchronousLink]
    /// `count` HCI ACL packets were acknowledged completely.
    func link(_ link: BasebandLink, completed count: Int)
}

/// One end of a BR/EDR link: timing of its slots. Core Vol 2, Part B, 4 and 8.5.
///
/// This class owns radio and timers and decides on turns. The state of the link and the content of packets are in `BasebandLinkState`.
final class BasebandLink: RadioActivity, LinkTransport {
    enum Phase {
        /// Waiting for `timer`.
        case idle
        case waitingForRadio
        /// Sending a packet that starts in a tick.
        case sending(BREDRPacketType, tick: Int)
        /// As central, listening for the reply to the packet sent in a tick.
        case awaitingAnswer(of: Int)
        /// As peripheral, listening in a central-to-peripheral slot.
        case listening(tick: Int)
        /// Performing a role switch.
        case sendingHandover(tick: Int)
        case awaitingHandoverAnswer(tick: Int)
        case awaitingHandover(tick: Int)
        case sendingHandoverAnswer(FHSPayload, sent: Microseconds)
        /// The link has ended.
        case closed
    }

    let air: Air
    let radio: Radio
    private(set) unowned var delegate: (any BasebandLinkDelegate)?
    /// The link manager; set before the first packet arrives.
    weak var manager: (any LinkTransportDelegate)?
    var state: BasebandLinkState
    private(set) var missedTurns = 0
    /// RSSI of the last received packet in dBm; 127 before the first.
    private(set) var rssi: Int8 = 127
    var phase = Phase.idle
    /// Tick of the central's slot that `timer` is set for.
    var nextTick = 0
    /// End of the slots of the last packet, by its type rather than its actual length.
    private var occupiedUntil = Microseconds.zero
    var roleSwitch: RoleSwitch?
    /// SCO and eSCO transports of the link.
    var synchronous: [SynchronousLink] = []
    /// LT_ADDR of the peer after a role switch.
    var newLTAddr: UInt8 = 1
    /// Changes whose instant has not been reached.
    private var scheduled: [(slot: UInt32, change: BasebandChange)] = []
    private(set) var timer: AirTimer!
    private var supervisionTimer: SupervisionTimer!
    private(set) var connectionTimer: AirTimer!

    private static let uncertainty = PageTiming.uncertainty
    var loop: RunLoop { air.loop }

    init(_ parameters: BasebandLinkParameters, radio: Radio, delegate: any BasebandLinkDelegate) {
        self.radio = radio
        self.delegate = delegate
        air = radio.air
        state = BasebandLinkState(parameters)
        timer = AirTimer(on: radio.air.loop) { [unowned self] in beginTurn() }
        connectionTimer = AirTimer(on: radio.air.loop) { [unowned self] in connectionFailed() }
        supervisionTimer = SupervisionTimer(on: radio.air.loop) { [unowned self] in
            state.supervisionDeadline
        } expired: { [unowned self] in
            close(.connectionTimeout)
        }
        connectionTimer.set(at: parameters.start + PageTiming.newConnectionTimeout)
        plan(from: parameters.start)
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    var role: LinkRole { state.role }
    /// Computed where the lower bits of the piconet clock are zero, so that the value does not depend on the time of the call.
    var clockOffset: UInt16 {
        let tick = state.clock.tick(at: loop.now) & ~3
        return UInt16(truncatingIfNeeded: (state.native.tick(at: state.clock.start(of: tick)) - tick) >> 2 & 0x7FFF)
    }
    var slotOffset: UInt16 {
        let pair = NativeClock.slot * 2
        let offset = (state.native.start(of: 0) - state.clock.start(of: 0)) % pair
        return UInt16(truncatingIfNeeded: (offset < .zero ? offset + pair : offset).rawValue)
    }
    var slot: UInt32 { NativeClock.value(of: state.clock.tick(at: loop.now)) >> 1 }
    var wantsEnhancedRates: Bool { state.choice.wantsEnhancedRates }
    var isClosed: Bool { if case .closed = phase { true } else { false } }
    /// True if nothing is queued and no instant is pending.
    var isAtRest: Bool { state.exchange.isEmpty && scheduled.isEmpty && roleSwitch == nil }

    /// Arbitration priority: an idle link yields to advertising; a link that has missed its turns for long wins over other links.
    var priority: Int {
        let overdue = (loop.now - (role == .central ? state.lastExchange : state.lastHeard)) / state.turnInterval
        let isWaiting =
            role == .peripheral && roleSwitch == nil && state.sniff == nil && state.isEstablished && overdue < 2 && !state.peerIsSending
            && !state.exchange.hasMore
        if isWaiting, case .listening = phase { return radio.isReceiving ? RadioPriority.connection : RadioPriority.idleLink }
        if isWaiting, case .idle = phase { return RadioPriority.idleLink }
        return RadioPriority.connection + min(max(0, overdue - 1), 1_000)
    }

    // MARK: Commands

    /// Queues the data of one HCI ACL packet.
    ///
    /// - Parameter isStart: false if the data continues an L2CAP message.
    func send(_ data: ArraySlice<UInt8>, isStart: Bool) {
        guard !isClosed else { return }
        state.exchange.append(data, isStart: isStart)
        wake()
    }

    func send(lmp pdu: [UInt8]) {
        guard !isClosed else { return }
        state.exchange.append(lmp: pdu)
        wake()
    }

    func apply(_ change: BasebandChange) {
        guard !isClosed else { return }
        if let instant = change.instant {
            scheduled.append((instant, change))
            return wake()
        }
        state.apply(change, at: loop.now)
        switch change {
        case .supervisionTimeout where state.isEstablished: supervisionTimer.start()
        case .supervisionTimeout: break
        case .synchronous(let id, let parameters): self.change(id, parameters)
        case .sniff:
            radio.reserve(self, at: nil)
            if case .idle = phase, !isHandingOver { plan(from: loop.now) }
        default: wake()
        }
    }

    func detach() { close(nil) }

    /// Closes the link because the peer starts a new connection.
    func giveWay() { close(.connectionTimeout) }

    // MARK: Closing

    private func connectionFailed() {
        guard !isClosed else { return }
        if roleSwitch != nil { return endSwitch(isDone: false) }
        let delegate = delegate
        close(nil)
        delegate?.linkFailed(self)
    }

    /// Ends the link and releases the radio.
    ///
    /// - Parameter reason: reason for the link manager; nil if it must not be notified.
    private func close(_ reason: ErrorCode?) {
        guard !isClosed else { return }
        phase = .closed
        timer.cancel()
        supervisionTimer.cancel()
        connectionTimer.cancel()
        scheduled.removeAll()
        for transport in synchronous { transport.close() }
        synchronous.removeAll()
        roleSwitch = nil
        state.exchange.removeAll()
        radio.forget(self)
        delegate = nil
        if let reason { manager?.transportLost(self, reason) }
    }

    // MARK: Turns

    /// Schedules the next turn: for a central, when it has data, an acknowledgement or a poll to send; for a peripheral, each
    /// central-to-peripheral slot.
    private func plan(from time: Microseconds) {
        let next = state.turn(from: max(time, occupiedUntil))
        phase = .idle
        guard role == .central else {
            nextTick = next
            let start = state.clock.start(of: next)
            if state.sniff != nil { radio.reserve(self, at: start) }
            return timer.set(at: start - lead)
        }
        var isPoll = state.sniff != nil
        nextTick = next
        if state.isEstablished, !state.exchange.hasMore, !state.peerIsSending {
            let poll = state.poll(from: next)
            isPoll = isPoll || poll > next
            nextTick = state.sniff == nil ? max(next, min(poll, earliestInstant ?? poll)) : poll
        }
        let start = state.clock.start(of: nextTick)
        radio.reserve(self, at: isPoll ? start : nil)
        timer.set(at: start)
    }

    /// The time before its slot at which a peripheral starts to listen. After a role switch, the clock in the FHS packet leaves an uncertainty of up to two slots.
    private var lead: Microseconds { Self.uncertainty + (isSearching ? NativeClock.slot * 2 : .zero) }
    private var isSearching: Bool { roleSwitch.map { $0.isHandedOver && !$0.isNewCentral } ?? false }

    /// The central's slot in which the next scheduled change is applied.
    private var earliestInstant: Int? {
        let tick = state.clock.tick(at: loop.now) & ~1
        return scheduled.map { tick + 2 * (Int($0.slot &- slot) & 0x7FF_FFFF) }.min().map { ($0 + 2) & ~3 }
    }

    /// Called when data is queued: a central that waits for the next poll uses the next slot.
    private func wake() {
        guard case .idle = phase, role == .central, !isHandingOver else { return }
        plan(from: max(loop.now, state.lastExchange + NativeClock.slot))
    }

    private func beginTurn() {
        guard case .idle = phase else { return }
        if handOver() { return }
        let start = state.clock.start(of: nextTick)
        reachInstants(at: start)
        guard case .idle = phase, roleSwitch.map(\.isHandedOver) ?? true else { return }
        guard radio.acquire(self) else { return missTurn() }
        switch role {
        case .central: beginExchange(in: nextTick, at: start)
        case .peripheral:
            phase = .listening(tick: nextTick)
            radio.listen(state.tuning(state.channel(in: nextTick)), from: start - lead, until: start + Self.uncertainty)
        }
    }

    private func missTurn() {
        missedTurns += 1
        guard role == .central else { return plan(from: loop.now + NativeClock.slot) }
        phase = .waitingForRadio
        radio.wait(self)
    }

    func radioIsFree() {
        if case .waitingForRadio = phase { plan(from: loop.now) }
    }

    func preempted() {
        guard !isClosed else { return }
        missedTurns += 1
        guard !isHandingOver else { return handoverMissed() }
        state.heardNothing()
        guard role == .central else { return plan(from: loop.now + NativeClock.slot) }
        phase = .waitingForRadio
        radio.wait(self)
    }

    /// - Parameter wait: time in which no turn starts.
    func endTurn(then wait: Microseconds = .zero) {
        guard !isClosed else { return }
        phase = .idle
        radio.release(self)
        guard case .idle = phase else { return }
        plan(from: loop.now + wait)
    }

    /// Applies the changes whose instant has been reached.
    private func reachInstants(at time: Microseconds) {
        let now = NativeClock.value(of: state.clock.tick(at: time)) >> 1
        while let index = scheduled.firstIndex(where: { (now &- $0.slot) & 0x7FF_FFFF < 0x400_0000 }) {
            let change = scheduled.remove(at: index).change
            if case .roleSwitch = change { return beginSwitch(change) }
            state.apply(change, at: time)
            manager?.transport(self, made: change, isDone: true)
        }
    }

    // MARK: Sending

    /// Number of slots from `start` until another activity needs the radio.
    private func room(from start: Microseconds, least: Int = .min) -> Int {
        let reservation = radio.nextReservation(besides: self, from: least)
        return reservation == .never ? .max : max(0, (reservation - start) / NativeClock.slot)
    }

    /// Starts a central's turn if the reply to its packet ends in time.
    private func beginExchange(in tick: Int, at start: Microseconds) {
        let room = room(from: start)
        let isUrgent = priority > RadioPriority.connection && synchronous.isEmpty
        guard room >= 2 || isUrgent else {
            radio.release(self)
            return plan(from: start + NativeClock.slot * (room + 1))
        }
        state.lastExchange = start
        transmit(state.packet(in: tick, slots: isUrgent ? 5 : room - 1), in: tick, at: start)
    }

    private func transmit(_ packet: BREDRPacket, in tick: Int, at start: Microseconds) {
        phase = .sending(packet.type ?? .null, tick: tick)
        radio.transmit(packet, at: start)
    }

    func transmitted(at end: Microseconds) {
        guard case .sending(let type, let tick) = phase else { return handoverTransmitted() }
        note(type, in: tick)
        guard role == .central else { return endTurn() }
        let answer = tick + 2 * type.slots
        let due = state.clock.start(of: answer)
        phase = .awaitingAnswer(of: tick)
        radio.listen(state.tuning(state.channel(in: answer, answering: tick)), from: due - Self.uncertainty, until: due + Self.uncertainty)
    }

    // MARK: Receiving

    func windowClosed() {
        guard !isClosed else { return }
        guard !isHandingOver else { return handoverMissed() }
        state.heardNothing()
        // The next pair of slots has begun, maybe with the packet: a search goes on in the one after.
        endTurn(then: isSearching ? lead : .zero)
    }

    private func note(_ type: BREDRPacketType, in tick: Int) {
        state.note(type, in: tick)
        occupiedUntil = state.clock.start(of: tick + 2 * type.slots)
    }

    /// True if the turn belongs to the handover of a role switch.
    private var isHandingOver: Bool { roleSwitch.map { !$0.isHandedOver } ?? false }

    func received(_ reception: BREDRReception) {
        guard !isHandingOver else { return handoverReceived(reception) }
        let packet = reception.packet
        // A corrupted packet without a payload has a corrupted header.
        guard let type = packet.type, packet.ltAddr == state.ltAddr, reception.isIntact || type.format.hasCRC else { return windowClosed() }
        let awaited = phase
        if isSearching, case .listening(let tick) = phase { state.synchronise(to: reception.start, in: tick) }
        rssi = reception.rssi
        note(type, in: state.clock.tick(at: reception.start))
        follow(state.take(reception))
        switch awaited {
        case .listening(let tick) where !isClosed: answer(type, in: tick)
        case .awaitingAnswer: endTurn()
        default: break
        }
    }

    /// Sends a peripheral's reply to any packet addressed to it; to NULL only if it has data. Scan windows do not shorten the reply, since
    /// a central that gets no reply does not poll again soon.
    private func answer(_ type: BREDRPacketType, in tick: Int) {
        guard type != .null || state.exchange.hasMore else { return endTurn() }
        let answer = tick + 2 * type.slots
        let start = state.clock.start(of: answer)
        transmit(
            state.packet(in: answer, answering: tick, slots: max(1, room(from: start, least: RadioPriority.advertising))), in: answer,
            at: start)
    }

    private func follow(_ taken: BasebandLinkState.Taken) {
        if connectionTimer.isSet {
            connectionTimer.cancel()
            if roleSwitch == nil {
                supervisionTimer.start()
                delegate?.linkEstablished(self)
            } else {
                endSwitch(isDone: true)
            }
        }
        if !isClosed, let acknowledged = taken.acknowledged { complete(acknowledged) }
        guard !isClosed else { return }
        // A payload with a wrong MIC is sent again, as one with a wrong CRC is; several in succession are a wrong key or an attack.
        if taken.micFailures == 3 { manager?.transportNeedsKeyRefresh(self) }
        if taken.micFailures > 3 { return close(.connectionTerminatedDueToMICFailure) }
        guard let (data, llid) = taken.payload else { return }
        switch llid {
        case LLID.control: manager?.transport(self, received: Array(data))
        case LLID.start: delegate?.link(self, received: data, isStart: true)
        case LLID.continuation where !data.isEmpty: delegate?.link(self, received: data, isStart: false)
        default: break
        }
    }

    private func complete(_ pdu: OutgoingPDU) {
        switch pdu.kind {
        case .control: manager?.transportAcknowledged(self, lmp: Array(pdu.payload))
        case .data(let endsPacket): if endsPacket { delegate?.link(self, completed: 1) }
        case .empty: break
        }
    }
}
