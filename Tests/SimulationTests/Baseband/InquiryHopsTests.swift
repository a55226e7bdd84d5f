import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Phases of inquirers and scanners. Core Vol 2, Part B, 2.6.4.
@Suite struct InquiryHopsTests {
    @Test(arguments: [0, 1, 5, 17, 31]) func aTrainIsHalfOfTheSequence(_ slow: Int) {
        func phases(_ train: HopTrain) -> [Int] {
            // Sixteen slots; ID packets are sent while CLKN1 is 0.
            (0..<32).filter { $0 & 2 == 0 }.map { train.phase(clock: UInt32(slow << 12 | $0)) }
        }
        let (a, b) = (Set(phases(.a)), Set(phases(.b)))
        #expect([phases(.a).count, a.count, b.count] == [16, 16, 16])
        #expect(a.isDisjoint(with: b))
        // Train A surrounds the phase of a scanner with the same clock: from eight before it to seven after it.
        #expect(a == Set((-8...7).map { (slow + $0) & 31 }))
    }

    @Test func aTrainIsSentForTwoPointFiveSixSeconds() {
        #expect((0..<4).map { InquiryHops.train(in: $0 * 8_192) } == [.a, .b, .a, .b])
        #expect(InquiryHops.train(in: 8_191) == .a)
        let ticks: Int = 8_192
        #expect(ticks * 625 / 2 == 2_560_000)
    }

    @Test func aScannerMovesOnEvery1_28SecondsAndWithEveryAnswer() {
        let phases = stride(from: 0, to: 34 << 12, by: 1 << 12).map { InquiryHops.scanPhase(clock: UInt32($0), shift: 0) }
        #expect(phases == (0..<34).map { $0 & 31 })
        #expect(InquiryHops.scanPhase(clock: 31 << 12, shift: 3) == 2)
    }

    @Test func ticksAndTimesAgree() {
        var random = RandomSource(seed: 4)
        for _ in 0..<50 {
            let clock = NativeClock(&random)
            for tick in clock.tick(at: 0)...clock.tick(at: 5_000) where clock.start(of: tick) >= 0 {
                #expect(clock.tick(at: clock.start(of: tick)) == tick)
                #expect(clock.tick(at: clock.start(of: tick) - 1) == tick - 1)
                #expect(clock.start(of: tick + 2) - clock.start(of: tick) == 625)
            }
        }
    }
}
