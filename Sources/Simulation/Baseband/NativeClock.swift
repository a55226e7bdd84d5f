import Packets
import Timing

/// CLKN, the free-running clock of a BR/EDR radio: 28 bits that count half slots of 312.5 us. Core Vol 2, Part B, 1.1.
struct NativeClock {
    static let slot: Microseconds = 625
    static let halfSlot = slot / 2

    /// How long the clock had run when the simulation began.
    private let offset: Microseconds

    /// - Parameter random: every device has been switched on at another time.
    init(_ random: inout RandomSource) {
        offset = Microseconds(Int64(random.next() % (1 << 28 * 625 / 2)))
    }

    /// A clock that shows so many ticks at `time`: another device's, as far as it is known.
    init(showing ticks: Int, at time: Microseconds) { offset = Self.halfSlot * ticks - time }

    /// Ticks counted until `time`, without the wrap at 28 bits.
    func tick(at time: Microseconds) -> Int { (time + offset) / Self.halfSlot }

    /// When a tick begins.
    func start(of tick: Int) -> Microseconds { Self.halfSlot * tick - offset }

    /// CLKN as it stands in packets and in the hop selection.
    static func value(of tick: Int) -> UInt32 { UInt32(truncatingIfNeeded: tick) & 0x0FFF_FFFF }
}
