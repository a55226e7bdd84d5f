import BBPackets
import BBTiming

/// CLKN, the free-running native clock: 28 bits that count half slots of 312.5 us. Core Vol 2, Part B, 1.1.
struct NativeClock {
    static let slot: Microseconds = 625
    static let halfSlot = slot / 2

    /// Clock value at the start of the simulation.
    private let offset: Microseconds

    /// - Parameter random: selects a random clock value for each device.
    init(_ random: inout RandomSource) {
        offset = Microseconds(Int64(random.next() % (1 << 28 * 625 / 2)))
    }

    /// A clock with the given tick count at `time`, for the estimated clock of another device.
    init(showing ticks: Int, at time: Microseconds) { offset = Self.halfSlot * ticks - time }

    /// Ticks counted at `time`, without the 28-bit wrap.
    func tick(at time: Microseconds) -> Int { (time + offset) / Self.halfSlot }

    /// Start of a tick.
    func start(of tick: Int) -> Microseconds { Self.halfSlot * tick - offset }

    /// The 28-bit CLKN used in packets and hop selection.
    static func value(of tick: Int) -> UInt32 { UInt32(truncatingIfNeeded: tick) & 0x0FFF_FFFF }
}
