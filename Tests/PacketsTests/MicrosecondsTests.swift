import BBPackets
import Testing

@Suite struct MicrosecondsTests {
    @Test func halvesAreKeptAndDoNotCountAsWhole() {
        let halfSlot = Microseconds(625) / 2
        #expect(halfSlot.halfMicroseconds == 625 && halfSlot.rawValue == 312 && halfSlot * 2 == 625)
        #expect(halfSlot == Microseconds(halfMicroseconds: 625) && halfSlot.milliseconds == 0.3125 && halfSlot.seconds == 0.000_312_5)
        #expect(312 < halfSlot && halfSlot < 313)
        #expect(Microseconds(1_250) / halfSlot == 4 && Microseconds(1_000) % halfSlot == halfSlot / 5)
        #expect((.zero - halfSlot).rawValue == -313)
    }

    static let limits: [(Int64, Microseconds)] = [
        (.max, .never), (.max / 2 + 1, .never), (.max / 2, Microseconds(halfMicroseconds: .max - 1)),
        (.min, Microseconds(halfMicroseconds: .min)), (-1, Microseconds(halfMicroseconds: -2)),
    ]

    @Test(arguments: limits) func moreThanCanBeCountedIsTheEndOfTime(_ microseconds: Int64, _ time: Microseconds) {
        #expect(Microseconds(microseconds) == time)
    }

    static let spans: [(Microseconds, Microseconds)] = [
        (.seconds(1e300), .never), (.seconds(-1e300), Microseconds(halfMicroseconds: .min)), (.seconds(.nan), .zero),
        (.seconds(Int.max), .never), (.milliseconds(Int.max), .never), (.milliseconds(Int.min), Microseconds(halfMicroseconds: .min)),
        (.seconds(1.25), 1_250_000), (.seconds(-2), -2_000_000), (.milliseconds(-3), -3_000),
    ]

    @Test(arguments: spans) func spansSaturate(_ span: Microseconds, _ time: Microseconds) { #expect(span == time) }
}
