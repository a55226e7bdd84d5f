import Packets

/// Slots of the central that come back after each interval: the anchor points of sniff mode, the instants of synchronous transports. Core Vol 2, Part B,
/// 8.6.2, 8.6.3 and 8.7.
struct SlotGrid {
    /// The tick of the first one.
    let first: Int
    /// In ticks.
    let interval: Int

    /// - Parameters:
    ///   - flags: timing control flags, of which bit 1 turns CLK27 round in the formula of the first slot.
    ///   - offset: D, in slots.
    ///   - interval: T, in slots.
    ///   - tick: of a slot of the central, from which on the first one is looked for.
    init(flags: UInt8, offset: Int, interval: Int, from tick: Int) {
        let slots = max(2, interval & ~1)
        let clock = Int(NativeClock.value(of: tick) >> 1) ^ (flags & 2 == 0 ? 0 : 1 << 26)
        let wait = (offset & ~1) % slots - clock % slots
        first = tick + 2 * (wait < 0 ? wait + slots : wait)
        self.interval = 2 * slots
    }

    /// The last one that has begun by a tick; nil before the first.
    func last(by tick: Int) -> Int? { tick < first ? nil : tick - (tick - first) % interval }

    /// The first one that begins in a tick or later.
    func next(from tick: Int) -> Int { tick <= first ? first : first + (tick - first + interval - 1) / interval * interval }
}

/// When the two ends of a link in sniff mode meet: in a number of slots from each anchor point on, and as long as data comes and goes. Core Vol 2, Part B,
/// 8.7.1.
struct SniffSchedule {
    let anchors: SlotGrid
    private let attempt: Int
    private let timeout: Int
    /// The central's slot in which data came or went last.
    private var lastData = Int.min

    private static let ticksPerTurn = 4

    /// - Parameter tick: of a slot of the central, now.
    init(_ parameters: SniffParameters, from tick: Int) {
        anchors = SlotGrid(
            flags: parameters.flags, offset: Int(parameters.offset), interval: Int(parameters.interval), from: tick)
        attempt = max(1, Int(parameters.attempt))
        timeout = Int(parameters.timeout)
    }

    var interval: Microseconds { NativeClock.halfSlot * anchors.interval }

    /// A packet with data came or went. What has begun before an anchor point does not count after it.
    mutating func noteData(in ticks: ClosedRange<Int>) {
        let isWithin = anchors.last(by: ticks.lowerBound) == anchors.last(by: ticks.upperBound)
        lastData = (isWithin ? ticks.upperBound : ticks.lowerBound) & ~3
    }

    /// Whether the peripheral listens in a slot of the central. Before the first anchor point it does as in active mode.
    func isOpen(in tick: Int) -> Bool {
        guard let anchor = anchors.last(by: tick) else { return true }
        if (tick - anchor) / Self.ticksPerTurn < attempt { return true }
        return lastData >= anchor && (tick - lastData) / Self.ticksPerTurn <= timeout
    }

    /// The first slot of the central from `tick` on in which the peripheral listens, if nothing more is heard.
    func next(from tick: Int) -> Int { isOpen(in: tick) ? tick : anchors.next(from: tick) }

    /// When an idle peripheral is polled: once after each anchor point, and again until it is heard.
    ///
    /// - Parameter lastHeard: the tick in which it was heard last.
    func poll(from tick: Int, lastHeard: Int) -> Int {
        guard let anchor = anchors.last(by: tick), lastHeard < anchor else { return anchors.next(from: tick) }
        return next(from: tick)
    }
}
