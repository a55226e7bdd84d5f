import BBPackets
import BBTiming

/// One end of a synchronous logical transport: reserved slots in each interval and, for eSCO, a retransmission window after them. Core Vol
/// 2, Part B, 4.3, 4.4, 8.6.2 and 8.6.3.
///
/// It reserves the radio in advance, and takes it from other activities at its instant.
final class SynchronousLink: RadioActivity {
    private enum Phase {
        /// Waiting for `timer`.
        case idle
        /// Sending a packet that starts in a tick.
        case sending(BREDRPacketType, tick: Int)
        /// As central, listening for the reply to the packet sent in a tick.
        case awaitingAnswer(of: Int)
        /// As peripheral, listening in a central-to-peripheral slot.
        case listening(tick: Int)
        /// The transport has ended.
        case closed
    }

    private unowned let link: BasebandLink
    private let radio: Radio
    let id: UInt8
    private let grid: SlotGrid
    private var exchange: SynchronousExchange
    private var phase = Phase.idle
    /// Tick in which the current or next interval starts.
    private var instant = 0
    /// Tick of the central's slot that `timer` is set for.
    private var nextTick = 0
    private var timer: AirTimer!

    var parameters: SynchronousParameters { exchange.parameters }
    /// Reserved slots take precedence over everything except a link that is about to be lost.
    var priority: Int { RadioPriority.synchronous }
    private var ltAddr: UInt8 { parameters.isExtended ? parameters.ltAddr : link.state.ltAddr }

    init(_ id: UInt8, _ parameters: SynchronousParameters, on link: BasebandLink) {
        self.id = id
        self.link = link
        radio = link.radio
        exchange = SynchronousExchange(parameters)
        let tick = link.state.centralTick(from: link.air.loop.now + NativeClock.slot)
        grid = SlotGrid(flags: parameters.flags, offset: Int(parameters.offset), interval: Int(parameters.interval), from: tick)
        timer = AirTimer(on: link.air.loop) { [unowned self] in beginTurn() }
        planInterval(from: tick)
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    func close() {
        phase = .closed
        timer.cancel()
        radio.forget(self)
    }

    /// Queues voice data from the host.
    func send(_ voice: ArraySlice<UInt8>) { exchange.append(voice) }

    /// True if another transport would share slots with this one.
    ///
    /// - Parameters:
    ///   - first: tick of the other transport's first instant.
    ///   - interval: its interval in ticks.
    ///   - slots: number of slots it uses per interval.
    func collides(with first: Int, every interval: Int, slots: Int) -> Bool {
        let period = Self.greatestCommonDivisor(interval, grid.interval)
        let distance = (((first - grid.first) % period) + period) % period
        return distance < 2 * (parameters.reservedSlots + Int(parameters.window)) || period - distance < 2 * slots
    }

    private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : greatestCommonDivisor(b, a % b) }

    // MARK: Turns

    /// Schedules the next interval. If the transport leaves no slots to the link, an interval is given to the link from time to time.
    private func planInterval(from tick: Int) {
        instant = grid.next(from: tick)
        if grid.interval < 2 * (parameters.reservedSlots + 2), link.needsTurn(in: instant) {
            exchange.begin()
            tellMissing()
            guard !isClosed else { return }
            instant += grid.interval
        }
        plan(instant)
    }

    private func plan(_ tick: Int) {
        nextTick = tick
        phase = .idle
        let start = link.state.clock.start(of: tick)
        radio.reserve(self, at: start)
        timer.set(at: link.role == .central ? start : start - PageTiming.uncertainty)
        radio.release(self)
    }

    private func beginTurn() {
        guard case .idle = phase else { return }
        if nextTick == instant { exchange.begin() }
        guard radio.acquire(self) else { return endInterval() }
        switch link.role {
        case .central: transmit(in: nextTick)
        case .peripheral:
            phase = .listening(tick: nextTick)
            listen(on: link.state.channel(in: nextTick), in: nextTick)
        }
    }

    private func listen(on channel: UInt8, in tick: Int) {
        let due = link.state.clock.start(of: tick)
        radio.listen(link.state.tuning(channel), from: due - PageTiming.uncertainty, until: due + PageTiming.uncertainty)
    }

    func preempted() {
        if case .closed = phase { return }
        endInterval()
    }

    /// Ends the interval and reports missing data to the host.
    private func endInterval() {
        tellMissing()
        guard !isClosed else { return }
        planInterval(from: max(nextTick + 4, link.state.centralTick(from: link.air.loop.now)))
    }

    private func tellMissing() {
        if parameters.receiveType != nil, !exchange.hasReceived { link.deliver(voice: silence[...], isCorrect: false, of: id) }
    }

    private var isClosed: Bool { if case .closed = phase { true } else { false } }
    private var silence: [UInt8] { [UInt8](repeating: parameters.silence, count: Int(parameters.receiveLength)) }

    /// Ends a turn. The eSCO window continues until both ends have their payload, or until its last slot.
    private func endTurn() {
        guard !isClosed else { return }
        let next = max(nextTick + 4, link.state.centralTick(from: link.air.loop.now))
        let end = instant + 2 * (parameters.reservedSlots + Int(parameters.window))
        let needed = link.role == .central ? exchange.next(isCentral: true).type.slots + (parameters.receiveType?.slots ?? 1) : 2
        guard !exchange.isDone, next + 2 * needed <= end else { return endInterval() }
        plan(next)
    }

    // MARK: Sending

    private func transmit(in tick: Int, answering answered: Int? = nil) {
        let (type, payload, arqn, seqn) = exchange.next(isCentral: link.role == .central)
        phase = .sending(type, tick: tick)
        radio.transmit(
            link.state.packet(type, payload, ltAddr: ltAddr, arqn: arqn, seqn: seqn, in: tick, answering: answered),
            at: link.state.clock.start(of: tick))
    }

    func transmitted(at end: Microseconds) {
        guard case .sending(let type, let tick) = phase else { return }
        guard link.role == .central else { return endTurn() }
        let answer = tick + 2 * type.slots
        phase = .awaitingAnswer(of: tick)
        listen(on: link.state.channel(in: answer, answering: tick), in: answer)
    }

    // MARK: Receiving

    /// As peripheral, sends in its reserved slots even if no packet was received. Core Vol 2, Part B, 8.6.2 and 8.6.3.
    func windowClosed() {
        guard case .listening(let tick) = phase, tick == instant else { return endTurn() }
        transmit(in: tick + 2 * (parameters.receiveType?.slots ?? 1), answering: tick)
    }

    func received(_ reception: BREDRReception) {
        let packet = reception.packet
        guard let type = packet.type, reception.isIntact || type.capacity > 0 else { return windowClosed() }
        guard packet.ltAddr == ltAddr, exchange.accepts(type) else { return hearOther(reception) }
        take(reception)
        switch phase {
        case .listening(let tick): transmit(in: tick + 2 * type.slots, answering: tick)
        case .awaitingAnswer: endTurn()
        case .idle, .sending, .closed: break
        }
    }

    private func take(_ reception: BREDRReception) {
        link.noteHeard(at: reception.start)
        let packet = reception.packet
        let voice = link.voice(of: reception)
        // Without a CRC, corruption cannot be detected.
        let arrived = exchange.received(packet, voice ?? (packet.type?.format.hasCRC == false ? packet.payload[...] : nil))
        guard arrived else { return }
        link.deliver(voice: voice ?? silence[...], isCorrect: voice != nil, of: id)
    }

    /// The central uses the slots for another transport: the window is over.
    private func hearOther(_ reception: BREDRReception) {
        guard case .listening(let tick) = phase, reception.packet.ltAddr == link.state.ltAddr else { return windowClosed() }
        endInterval()
        if !isClosed { link.adopt(reception, in: tick) }
    }
}

extension RadioPriority {
    /// Priority of reserved SCO and eSCO slots.
    static let synchronous = connection + 500
}
