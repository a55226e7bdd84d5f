import BBPackets
import BBTiming
import Testing

@Suite struct CleanUpTests {
    /// A clean-up of 300 ms or 5 s, limited to 2 s; its caller is cancelled before it, during it, or not at all. Times in ms.
    @Test(
        arguments: [
            (300, nil, 300, true), (300, 0, 300, true), (300, 100, 300, true), (5_000, nil, 2_000, false), (5_000, 0, 600, false),
            (5_000, 100, 700, false), (5_000, 1_900, 2_000, false),
        ] as [(Int, Int?, Int, Bool)])
    func aCleanUpGoesOnForACancelledCallerAndEnds(_ length: Int, _ cancelled: Int?, _ end: Int, _ isWhole: Bool) throws {
        let loop = RunLoop()
        try loop.run {
            var isDone = false
            let caller = loop.start {
                await loop.cleanUp(within: .seconds(2)) {
                    try await loop.sleep(for: .milliseconds(length))
                    isDone = true
                }
            }
            if let cancelled {
                if cancelled > 0 { try await loop.sleep(for: .milliseconds(cancelled)) }
                caller.cancel()
            }
            await caller.ended()
            #expect(loop.now == .milliseconds(end) && isDone == isWhole)
        }
        #expect(loop.deadlineCount == 0 && loop.activityCount == 0)
    }

    @Test func whatACleanUpThrowsIsDropped() throws {
        let loop = RunLoop()
        try loop.run { await loop.cleanUp(within: .seconds(1)) { throw TimeOut() } }
        #expect(loop.now == .zero)
    }
}
