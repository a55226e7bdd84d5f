import Foundation

/// The queues of a program in virtual time. Calls on them take no time, and neither does what these calls add to a queue.
///
/// It belongs to the thread of the bench. The main queue is served by this thread if it is the main thread, otherwise by another one. A test
/// on the main actor occupies the main queue, which then runs nothing until the test ends.
final class ProgramQueues {
    /// Queues with calls since they were last served.
    private var called: [DispatchQueue] = []
    private var isCalled = false
    /// Queues that were waited for in vain; the semaphore is signalled once a queue has done what was waited for.
    private var late: [(queue: DispatchQueue, done: DispatchSemaphore)] = []
    private var hasComplained = false
    /// Nil for the clocks of the system.
    private let time: ProgramTime?
    /// Blocks and tasks, on other queues and on the main queue, that were waited for in vain.
    private var left = (others: 0, main: 0)

    private let limit: DispatchTimeInterval
    private static let pause = DispatchTimeInterval.milliseconds(1)
    /// Hops from queue to queue at one moment of virtual time.
    private static let rounds = 16
    /// Seconds of wall time for the blocks and tasks of a program, which may wait for what only the passing of time brings.
    private static let blockLimit: TimeInterval = 5

    /// - Parameter limit: wall time for what a queue has to do before virtual time goes on without it.
    init(limit: DispatchTimeInterval = .seconds(10), time: ProgramTime? = nil) {
        self.limit = limit
        self.time = time
    }

    /// The bench ends.
    func end() { time?.end() }

    /// Marks the main queue, whichever thread runs it.
    private static let mainKey: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()
    private static var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: mainKey) != nil }

    // MARK: Calls

    /// Calls the program and waits for it. Without a queue it is called on this thread.
    func call(_ body: @escaping () -> Void, on queue: DispatchQueue?) {
        isCalled = true
        time?.follow()
        guard let queue else { return body() }
        if Self.isMain(queue) {
            if Self.isOnMainQueue || isLate(queue) { return body() }
            wait(for: queue, body)
            return
        }
        if !called.contains(where: { $0 === queue }) { called.append(queue) }
        // The program may wait for the main queue, which this thread then has to serve.
        if Self.isOnMainQueue { return wait(for: queue, body) }
        // Code on the queue may wait for what only the passing of time brings.
        if !isLate(queue) { wait(for: queue) {} }
        if isLate(queue) { enqueue(body, on: queue) } else { queue.sync { Self.run(body, in: time) } }
    }

    /// Runs what the program has added to the queues, if it was called since the last time, and its timers that are due.
    func serve() {
        time?.follow()
        for _ in 0..<Self.rounds {
            let isDue = time?.expire() ?? false
            guard isCalled || isDue || hasItems else { return }
            isCalled = false
            for queue in called where !isLate(queue) { wait(for: queue, flags: .barrier) {} }
            called.removeAll()
            settle()
            if Self.isOnMainQueue {
                if Thread.isMainThread { serveMain() }
            } else if !isLate(.main) {
                wait(for: .main) {}
            }
            if isDue, !Thread.isMainThread { Self.runLoop() }
        }
        // A main queue that is occupied runs them later.
        left.main = time?.items(onMain: true) ?? 0
    }

    /// Runs what the program has added to the queues, also by code of the test.
    func serveAll() {
        isCalled = true
        serve()
    }

    // MARK: Blocks and tasks

    private var hasItems: Bool {
        guard let time else { return false }
        let (others, main) = (time.items(onMain: false), time.items(onMain: true))
        left = (min(left.others, others), min(left.main, main))
        return others > left.others || main > left.main
    }

    /// Waits for blocks and tasks on other queues than the main one, which this thread may have to serve meanwhile.
    private func settle() {
        guard let time, time.items(onMain: false) > left.others else { return }
        if Thread.isMainThread {
            for _ in 0..<Int(Self.blockLimit * 1_000) {
                if time.settles(onMain: false, left: left.others, within: 0.001) { return }
                if Self.isOnMainQueue { Self.runLoop() }
            }
        } else if time.settles(onMain: false, left: left.others, within: Self.blockLimit) {
            return
        }
        left.others = time.items(onMain: false)
    }

    private static func run(_ body: () -> Void, in time: ProgramTime?) {
        guard let time else { return body() }
        time.inside(body)
    }

    /// Runs the timers and blocks of this thread's run loop that are due.
    private static func runLoop() { _ = Foundation.RunLoop.current.run(mode: .default, before: .distantPast) }

    // MARK: Queues

    /// True while a queue is not waited for.
    private func isLate(_ queue: DispatchQueue) -> Bool {
        guard let index = late.firstIndex(where: { $0.queue === queue || Self.isMain($0.queue) && Self.isMain(queue) }) else {
            return false
        }
        guard late[index].done.wait(timeout: .now()) == .success else { return true }
        late.remove(at: index)
        return false
    }

    /// An explicit main queue is another object than `DispatchQueue.main` on Linux.
    private static func isMain(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: mainKey) != nil }

    /// The main thread runs what is on the main queue now.
    private func serveMain() {
        let done = DispatchSemaphore(value: 0)
        ProgramTime.outside { DispatchQueue.main.async { done.signal() } }
        // Without an effect if this thread is within a call of the main queue.
        for _ in 0..<100 {
            guard Foundation.RunLoop.current.run(mode: .default, before: .distantPast) else { return }
            if done.wait(timeout: .now()) == .success { return }
        }
    }

    private func enqueue(_ body: @escaping () -> Void, on queue: DispatchQueue) {
        let (carried, time) = (Carried(body), time)
        ProgramTime.outside { queue.async { Self.run(carried.value, in: time) } }
    }

    /// Runs a body on another queue and waits for it; after the limit the queue is late.
    private func wait(for queue: DispatchQueue, flags: DispatchWorkItemFlags = [], _ body: @escaping () -> Void) {
        let (done, carried, time) = (DispatchSemaphore(value: 0), Carried(body), time)
        ProgramTime.outside {
            queue.async(flags: flags) {
                Self.run(carried.value, in: time)
                done.signal()
            }
        }
        let end = ProgramTime.outside { DispatchTime.now() + limit }
        while ProgramTime.outside({ done.wait(timeout: Self.isOnMainQueue ? .now() + Self.pause : end) }) == .timedOut {
            guard ProgramTime.outside({ DispatchTime.now() < end }) else {
                complain(queue)
                late.append((queue, done))
                return
            }
            if Thread.isMainThread { Self.runLoop() }
        }
    }

    private func complain(_ queue: DispatchQueue) {
        guard !hasComplained else { return }
        hasComplained = true
        let text =
            "the queue \(queue.label) did not run in time: virtual time goes on without it. A test on the main actor occupies the main queue."
        FileHandle.standardError.write(Data("[CoreBluetooth] \(text)\n".utf8))
    }
}
