import BBTiming
import Testing

@testable import BBConformance

struct ObservationLogTests {
    /// A packet that comes after the end of a wait, and before the waiting task continues, goes to another wait or to the next.
    @Test(arguments: [false, true]) func aPacketAtTheEndOfAWaitIsNotLost(_ isAwaitedByAnother: Bool) throws {
        let loop = RunLoop()
        let log = ObservationLog(loop: loop)
        try loop.run {
            let ended = loop.start { _ = try await log.take(from: 0, until: 1_000) { _ in true } }
            try await loop.sleep(for: 10)
            let other = loop.start { isAwaitedByAnother ? try await log.take(from: 0, until: 1_000) { _ in true }?.name : nil }
            try await loop.sleep(for: 10)
            ended.cancel()
            log.add(.subject, "LE_Meta", .event([]), number: 1, at: loop.now)
            _ = try? await ended.value()
            let found = try await isAwaitedByAnother ? other.value() : log.take(from: 0, until: loop.now) { _ in true }?.name
            #expect(found == "LE_Meta")
        }
    }
}
