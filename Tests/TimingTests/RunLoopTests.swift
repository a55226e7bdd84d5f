import BBPackets
import BBTiming
import BBTransport
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite struct RunLoopTests {
    /// Records events in order.
    private final class Log {
        var lines: [String] = []
    }

    private final class Worker {
        private let loop: RunLoop
        private let log: Log

        init(loop: RunLoop, log: Log) {
            self.loop = loop
            self.log = log
        }

        func work(_ name: String, every interval: Microseconds) async throws {
            for round in 0..<3 {
                try await loop.sleep(for: interval)
                log.lines.append("\(name)\(round)@\(loop.now.rawValue)")
            }
        }
    }

    private struct Refusal: Error {}

    /// A value that comes in the turn of the deadline, before the waiting task can run, counts.
    @Test func aValueOfTheSameTurnCounts() throws {
        let loop = RunLoop(mode: .wall)
        let promise = Promise<Int>(on: loop)
        let bound = LoopBound(promise, to: loop)
        let value = try loop.run {
            let deadline = loop.now + 1
            loop.schedule(at: deadline) { loop.post { bound.value.fulfil(7) } }
            return try await promise.value(until: deadline)
        }
        #expect(value == 7)
    }

    @Test func timersFireInOrderOfDeadlineThenOfSetting() throws {
        let loop = RunLoop()
        let log = Log()
        try loop.run {
            for (name, delay) in [("c", 30), ("a", 10), ("b", 10), ("d", 40)] {
                loop.schedule(after: Microseconds(delay)) { log.lines.append(name) }
            }
            let cancelled = loop.schedule(after: 20) { log.lines.append("never") }
            loop.cancel(cancelled)
            loop.cancel(cancelled)
            try await loop.sleep(for: 100)
        }
        #expect(log.lines == ["a", "b", "c", "d"])
        #expect(loop.now == 100)
    }

    @Test func aHalfMicrosecondPartsTwoDeadlines() throws {
        let loop = RunLoop()
        let log = Log()
        try loop.run {
            loop.schedule(at: Microseconds(halfMicroseconds: 625)) { log.lines.append("\(loop.now.halfMicroseconds)") }
            loop.schedule(at: 312) { log.lines.append("\(loop.now.halfMicroseconds)") }
            try await loop.sleep(for: 313)
        }
        #expect(log.lines == ["624", "625"])
    }

    /// Owns a timer and cancels it on release.
    private final class Owner {
        private let loop: RunLoop
        private let timer: Timer

        init(_ loop: RunLoop, _ action: @escaping () -> Void) {
            self.loop = loop
            timer = loop.schedule(after: 10, action)
        }

        deinit { loop.cancel(timer) }
    }

    @Test func aCancelledActionMayCancelAnotherAsItGoes() throws {
        let loop = RunLoop()
        let log = Log()
        try loop.run {
            var owner: Owner? = Owner(loop) { log.lines.append("owned") }
            let outer = loop.schedule(after: 20) { [owner] in log.lines.append("\(owner == nil)") }
            loop.schedule(after: 15) { log.lines.append("other") }
            owner = nil
            loop.cancel(outer)
            try await loop.sleep(for: 30)
        }
        #expect(log.lines == ["other"])
    }

    @Test func activitiesOnTheLoopInterleaveTheSameWayEveryTime() throws {
        func once() throws -> [String] {
            let loop = RunLoop()
            let log = Log()
            let x = Worker(loop: loop, log: log)
            let y = Worker(loop: loop, log: log)
            try loop.run {
                let activities = [
                    loop.start { try await x.work("x", every: 3_000_000) }, loop.start { try await y.work("y", every: 2_000_000) },
                ]
                for activity in activities { try await activity.value() }
            }
            return log.lines
        }
        let first = try once()
        #expect(first == ["y0@2000000", "x0@3000000", "y1@4000000", "x1@6000000", "y2@6000000", "x2@9000000"])
        for _ in 0..<20 { #expect(try once() == first) }
    }

    @Test func anActivityHasAResultAFailureOrIsCancelled() throws {
        let loop = RunLoop()
        let log = Log()
        try loop.run {
            let result = loop.start {
                try await loop.sleep(for: 5)
                return log
            }
            #expect(!result.isOver)
            #expect(try await result.value() === log)
            let failure = loop.start { throw Refusal() }
            await #expect(throws: Refusal.self) { try await failure.value() }
            let endless = loop.start { try await loop.sleep(for: .seconds(60)) }
            try await loop.sleep(for: 1)
            endless.cancel()
            await #expect(throws: CancellationError.self) { try await endless.value() }
        }
        #expect(loop.now == 6)
    }

    @Test func theFirstFailureEndsAllThatRunTogether() throws {
        let loop = RunLoop()
        let log = Log()
        func wait(_ seconds: Int, _ name: String) async throws {
            do { try await loop.sleep(for: .seconds(seconds)) } catch { log.lines.append("\(name) cancelled at \(loop.now.seconds)") }
            try Task.checkCancellation()
            log.lines.append(name)
        }
        try loop.run {
            try await loop.runTogether([])
            try await loop.runTogether([{ try await wait(2, "b") }, { try await wait(1, "a") }])
            await #expect(throws: Refusal.self) {
                try await loop.runTogether([
                    { try await wait(9, "c") },
                    {
                        try await wait(1, "d")
                        throw Refusal()
                    },
                ])
            }
            let cancelled = loop.start { try await loop.runTogether([{ try await wait(9, "e") }]) }
            try await loop.sleep(for: .seconds(1))
            cancelled.cancel()
            await cancelled.ended()
        }
        #expect(log.lines == ["a", "b", "d", "c cancelled at 3.0", "e cancelled at 4.0"])
    }

    @Test func aLoopIsRunByTheThreadThatMadeIt() throws {
        let loop = RunLoop()
        let refusal = Mutex<(any Error)?>(nil)
        SystemThread {
            do { try loop.run {} } catch { refusal.withLock { $0 = error } }
        }.join()
        #expect(refusal.withLock { $0 as? RunLoopError } == .runByOtherThread)
    }

    @Test func aCancelledSleepEndsAtOnceAndLeavesNoTimer() throws {
        let loop = RunLoop()
        try loop.run {
            await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    do { try await loop.sleep(for: .seconds(60)) } catch { return true }
                    return false
                }
                loop.schedule(after: 7) {}
                try? await loop.sleep(for: 5)
                group.cancelAll()
                #expect(await group.next() == true)
            }
        }
        #expect(loop.now == 5)
    }

    @Test func aRunThatWaitsForNothingFails() {
        let loop = RunLoop()
        #expect(throws: RunLoopError.stalled(at: 3)) {
            try loop.run {
                try await loop.sleep(for: 3)
                _ = try? await Promise<Int>(on: loop).value()
                try await Promise<Void>(on: loop).value()
            }
        }
    }

    @Test func aPromiseTimesOutAndCanStillBeFulfilled() throws {
        let loop = RunLoop()
        let late = try loop.run {
            let promise = Promise<Int>(on: loop)
            await #expect(throws: TimeOut.self) { try await promise.value(until: loop.now + 10) }
            loop.schedule(after: 10) { promise.fulfil(7) }
            return try await promise.value()
        }
        #expect(late == 7)
        #expect(loop.now == 20)
    }

    @Test func wallModeKeepsDeadlinesAndTakesForeignEvents() throws {
        let loop = RunLoop(mode: .wall)
        let log = Log()
        try loop.run {
            let done = Promise<Void>(on: loop)
            loop.schedule(after: 2_000) { log.lines.append("timer@\(loop.now.rawValue >= 2_000)") }
            let bound = LoopBound(done, to: loop)
            loop.schedule(after: 3_000) {
                SystemThread { loop.post { bound.value.fulfil(()) } }.join()
            }
            try await done.value()
        }
        #expect(log.lines == ["timer@true"])
        #expect(loop.now >= 3_000)
    }

    @Test func wallModeServesDescriptorsBesideTimersAndForeignEvents() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (input, output) = (ends[0], ends[1])
        defer { for end in ends { close(end) } }
        let loop = RunLoop(mode: .wall)
        let log = Log()
        try loop.run {
            let done = Promise<Void>(on: loop)
            loop.watch(input, for: .read) { readiness in
                var octet: UInt8 = 0
                guard readiness.contains(.read), read(input, &octet, 1) == 1 else { return }
                log.lines.append("read\(octet)")
                if octet == 3 { done.fulfil(()) }
            }
            for octet in 1...3 {
                loop.schedule(after: Microseconds(octet * 300)) {
                    var octet = UInt8(octet)
                    _ = write(output, &octet, 1)
                }
            }
            try await done.value(until: loop.now + .seconds(300))
            loop.unwatch(input)
            var octet: UInt8 = 9
            _ = write(output, &octet, 1)
            try await loop.sleep(for: 500)
        }
        #expect(log.lines == ["read1", "read2", "read3"])
    }

    /// An external event is served at its arrival time: a deadline that has passed meanwhile is served first.
    @Test func wallModeServesWhatIsDueBeforeDescriptors() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (input, output) = (ends[0], ends[1])
        defer { for end in ends { close(end) } }
        let loop = RunLoop(mode: .wall)
        let log = Log()
        try loop.run {
            let done = Promise<Void>(on: loop)
            let deadline = loop.now + 2_000
            loop.watch(input, for: .read) { _ in
                log.lines.append(loop.now >= deadline ? "read in time" : "read too early")
                loop.unwatch(input)
                done.fulfil(())
            }
            loop.schedule(at: deadline) { log.lines.append("due") }
            var octet: UInt8 = 1
            _ = write(output, &octet, 1)
            let origin = loop.origin
            loop.post { while MonotonicClock.now() - origin <= deadline {} }
            try await done.value()
        }
        #expect(log.lines == ["due", "read in time"])
    }

    @Test func randomStreamsRepeatByLabel() {
        var a = RandomSource(seed: 1, label: "air")
        var b = RandomSource(seed: 1, label: "air")
        var c = RandomSource(seed: 1, label: "controller")
        let first = a.octets(16)
        #expect(first == b.octets(16))
        #expect(first != c.octets(16))
        #expect((0..<10_000).filter { _ in a.chance(0.25) }.count.distance(to: 2_500).magnitude < 200)
    }
}
