import Packets
import Timing

/// One end of a synchronous logical transport: slots of a link that are reserved in each interval, and for eSCO a window after them. Core Vol 2, Part B, 4.3, 4.4,
/// 8.6.2 and 8.6.3.
///
/// The radio's other activities see its reservations; it takes the radio from them when its instant has come.
final class SynchronousLink: RadioActivity {
    private enum Phase {
        /// Until `timer`.
        case idle
        /// Sending what starts in a tick.
        case sending(BREDRPacketType, tick: Int)
        /// A central listens for the answer to what it sent in a tick.
        case awaitingAnswer(of: Int)
        /// A peripheral listens in the central's slot.
        case listening(tick: Int)
        /// For good.
        case closed
    }

    private unowned let link: BasebandLink
    private let radio: Radio
    let id: UInt8
    private let grid: SlotGrid
    private var exchange: SynchronousExchange
    private var phase = Phase.idle
    /// The tick in which this interval began, or the next one will.
    private var instant = 0
    /// Of the central's slot that `timer` is set for.
    private var nextTick = 0
    private var timer: AirTimer!

    var parameters: SynchronousParameters { exchange.parameters }
    /// What is reserved comes before all but a link that is about to be lost.
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

    /// Queues voice of the host.
    func send(_ voice: ArraySlice<UInt8>) { exchange.append(voice) }

    /// Whether some of the slots from an instant on are the transport's as well.
    ///
    /// - Parameters:
    ///   - first: tick of another transport's first instant.
    ///   - interval: its interval in ticks.
    ///   - slots: that it takes of each interval.
    func collides(with first: Int, every interval: Int, slots: Int) -> Bool {
        let period = Self.greatestCommonDivisor(interval, grid.interval)
        let distance = (((first - grid.first) % period) + period) % period
        return distance < 2 * (parameters.reservedSlots + Int(parameters.window)) || period - distance < 2 * slots
    }

    private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : greatestCommonDivisor(b, a % b) }

    // MARK: Turns

    /// The next interval; where no slots are left beside the transport's, one is given to the link from time to time.
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

    /// Nothing more comes of this interval: the host hears of what is missing.
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

    /// The window of eSCO goes on until both sides have what is theirs, and ends with its last slot.
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

    /// In its reserved slots a peripheral sends whatever it has heard. Core Vol 2, Part B, 8.6.2 and 8.6.3.
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
        // Without a CRC, nobody knows what came broken.
        let arrived = exchange.received(packet, voice ?? (packet.type?.format.hasCRC == false ? packet.payload[...] : nil))
        guard arrived else { return }
        link.deliver(voice: voice ?? silence[...], isCorrect: voice != nil, of: id)
    }

    /// The central makes other use of the slots: the window is over for it.
    private func hearOther(_ reception: BREDRReception) {
        guard case .listening(let tick) = phase, reception.packet.ltAddr == link.state.ltAddr else { return windowClosed() }
        endInterval()
        if !isClosed { link.adopt(reception, in: tick) }
    }
}

extension RadioPriority {
    /// The reserved slots of SCO and eSCO.
    static let synchronous = connection + 500
}
