import Packets
import Timing

/// CLKN, the free-running clock of a BR/EDR radio: 28 bits that count half slots of 312.5 us. Core Vol 2, Part B, 1.1.
///
/// The simulation counts whole microseconds, so odd ticks begin half a microsecond late.
struct NativeClock {
    static let slot: Microseconds = 625

    /// What the clock had run, in microseconds, when the simulation began.
    private let offset: Int64

    /// - Parameter random: every device has been switched on at another time.
    init(_ random: inout RandomSource) { offset = Int64(random.next() % (1 << 28 * 625 / 2)) }

    /// Ticks counted until `time`, without the wrap at 28 bits.
    func tick(at time: Microseconds) -> Int { Int((time.rawValue + offset) * 2 / 625) }

    /// When a tick begins.
    func start(of tick: Int) -> Microseconds { Microseconds((Int64(tick) * 625 + 1) / 2 - offset) }

    /// CLKN as it stands in packets and in the hop selection.
    static func value(of tick: Int) -> UInt32 { UInt32(truncatingIfNeeded: tick) & 0x0FFF_FFFF }
}
