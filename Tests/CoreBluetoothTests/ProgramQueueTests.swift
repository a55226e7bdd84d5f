import Foundation
import Synchronization
import Testing

@testable import CoreBluetooth

/// Queues of a program beside virtual time. These tests run outside the main queue, which the main thread, or another one, serves.
@Suite struct ProgramQueueTests {
    /// Notes of a program, from any queue.
    private final class Notes: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private static let own = DispatchQueue(label: "of the program")
    private static let many = DispatchQueue(label: "of the program, concurrent", attributes: .concurrent)

    static let hops: [(name: String, queue: DispatchQueue?, hop: @Sendable (@escaping @Sendable () -> Void) -> Void)] = [
        ("main, from the bench", nil, { body in DispatchQueue.main.async { body() } }),
        ("main, from main", .main, { body in DispatchQueue.main.async { body() } }),
        ("main actor, in a delegate", .main, { body in MainActor.assumeIsolated { body() } }),
        ("main actor, in a task", nil, { body in Task { @MainActor in body() } }),
        ("main, from an own queue", own, { body in DispatchQueue.main.async { body() } }),
        ("main and waited for, from an own queue", own, { body in DispatchQueue.main.sync { body() } }),
        ("the same queue", own, { body in own.async { body() } }),
        ("the same concurrent queue", many, { body in many.async { body() } }),
    ]

    /// A block that a delegate adds to its queue or to the main queue is run within a millisecond of virtual time.
    @Test(arguments: hops.indices) func aHopTakesNoTime(index: Int) {
        let (row, notes, bench) = (Self.hops[index], Notes(), CBBench())
        let phone = bench.phone("phone")
        var times: [TimeInterval] = []
        let app = ReadyApp(on: phone, queue: row.queue) { _ in
            times.append(bench.now)
            row.hop { notes.add("run") }
        }
        #expect(bench.run { !notes.all.isEmpty }, "\(row.name)")
        #expect(app.manager.state == .poweredOn)
        #expect(bench.now - (times.first ?? 0) <= 0.001_001, "\(row.name)")
    }

    /// A request from another queue is made before time passes.
    @Test func aRequestFromTheMainQueueIsMade() {
        let bench = CBBench()
        let phone = bench.phone("phone")
        let app = ReadyApp(on: phone, queue: nil) { manager in
            let manager = Carried(manager)
            DispatchQueue.main.async { manager.value.scanForPeripherals(withServices: nil) }
        }
        #expect(bench.run { phone.scanning.isOn })
        #expect(app.manager.isScanning)
    }

    /// Code on a queue that waits for the peer, as in a stream, does not stop time for ever; its calls come later, in order.
    @Test func aQueueThatWaitsIsCalledLater() {
        let (queues, queue, gate, notes) = (
            ProgramQueues(limit: .milliseconds(20)), DispatchQueue(label: "late"), DispatchSemaphore(value: 0), Notes()
        )
        queue.async {
            gate.wait()
            notes.add("waited")
        }
        for line in ["first", "second"] { queues.call({ notes.add(line) }, on: queue) }
        queues.serve()
        #expect(notes.all == [])
        gate.signal()
        queue.sync {}
        queues.call({ notes.add("third") }, on: queue)
        #expect(notes.all == ["waited", "first", "second", "third"])
    }

    /// A block that the test itself has added is run when time passes.
    @Test func whatTheTestAddsIsRun() {
        let (bench, notes) = (CBBench(), Notes())
        DispatchQueue.main.async { notes.add("run") }
        bench.run(for: 0.001)
        #expect(notes.all == ["run"])
    }

    /// A program with a clock of its own takes that of the bench.
    @Test func theClockOfTheBenchIsForTheProgram() {
        let bench = CBBench()
        var times: [Double] = []
        for delay in [7.5, 10, -1, 0] { bench.after(delay) { times.append((bench.now * 1_000).rounded() / 1_000) } }
        bench.run(for: 20)
        #expect(times == [0, 0, 7.5, 10])
    }
}
