import BBPackets

/// Periodic central slots: the anchor points of sniff mode, or the instants of synchronous transports. Core Vol 2, Part B, 8.6.2, 8.6.3 and
/// 8.7.
struct SlotGrid {
    /// Tick of the first slot.
    let first: Int
    /// Interval in ticks.
    let interval: Int

    /// - Parameters:
    ///   - flags: timing control flags; bit 1 inverts CLK27 in the formula of the first slot.
    ///   - offset: D, in slots.
    ///   - interval: T, in slots.
    ///   - tick: tick of a central slot; the first slot of the grid is searched from here.
    init(flags: UInt8, offset: Int, interval: Int, from tick: Int) {
        let slots = max(2, interval & ~1)
        let clock = Int(NativeClock.value(of: tick) >> 1) ^ (flags & 2 == 0 ? 0 : 1 << 26)
        let wait = (offset & ~1) % slots - clock % slots
        first = tick + 2 * (wait < 0 ? wait + slots : wait)
        self.interval = 2 * slots
    }

    /// The last slot that started at or before a tick; nil before the first.
    func last(by tick: Int) -> Int? { tick < first ? nil : tick - (tick - first) % interval }

    /// The first slot that starts at or after a tick.
    func next(from tick: Int) -> Int { tick <= first ? first : first + (tick - first + interval - 1) / interval * interval }
}

/// Sniff mode schedule: both ends meet for a number of slots from each anchor point, and for as long as data is exchanged. Core Vol 2, Part
/// B, 8.7.1.
struct SniffSchedule {
    let anchors: SlotGrid
    private let attempt: Int
    private let timeout: Int
    /// The central's slot in which data was last exchanged.
    private var lastData = Int.min

    private static let ticksPerTurn = 4

    /// - Parameter tick: tick of the current central slot.
    init(_ parameters: SniffParameters, from tick: Int) {
        anchors = SlotGrid(
            flags: parameters.flags, offset: Int(parameters.offset), interval: Int(parameters.interval), from: tick)
        attempt = max(1, Int(parameters.attempt))
        timeout = Int(parameters.timeout)
    }

    var interval: Microseconds { NativeClock.halfSlot * anchors.interval }

    /// Records a data packet for the sniff timeout. A packet that spans an anchor point counts at its start only.
    mutating func noteData(in ticks: ClosedRange<Int>) {
        let isWithin = anchors.last(by: ticks.lowerBound) == anchors.last(by: ticks.upperBound)
        lastData = (isWithin ? ticks.upperBound : ticks.lowerBound) & ~3
    }

    /// True if the peripheral listens in a slot of the central. Before the first anchor point, it listens as in active mode.
    func isOpen(in tick: Int) -> Bool {
        guard let anchor = anchors.last(by: tick) else { return true }
        if (tick - anchor) / Self.ticksPerTurn < attempt { return true }
        return lastData >= anchor && (tick - lastData) / Self.ticksPerTurn <= timeout
    }

    /// The first central slot from `tick` on in which the peripheral listens, if no more data is exchanged.
    func next(from tick: Int) -> Int { isOpen(in: tick) ? tick : anchors.next(from: tick) }

    /// Next poll of an idle peripheral: once after each anchor point, repeated until it replies.
    ///
    /// - Parameter lastHeard: tick of the last packet received from it.
    func poll(from tick: Int, lastHeard: Int) -> Int {
        guard let anchor = anchors.last(by: tick), lastHeard < anchor else { return anchors.next(from: tick) }
        return next(from: tick)
    }
}
