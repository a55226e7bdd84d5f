import Synchronization
import Testing

@testable import CoreBluetooth

/// The timers and tasks of programs in virtual time.
@Suite struct ClockTests {
    /// Notes the virtual times of what a program does, from any thread.
    private final class Times: Sendable {
        private let bench: Carried<Weak<CBBench>>
        private let state = Mutex<[Double]>([])
        init(_ bench: CBBench) { self.bench = Carried(Weak(bench)) }
        func note() {
            guard let now = bench.value.object?.now else { return }
            state.withLock { $0.append(now) }
        }
        var all: [Double] { state.withLock { $0 } }
    }

    private actor Sleeper {
        private var count = 0
        func sleep(_ times: Int, _ note: @Sendable () -> Void) async {
            for _ in 0..<times {
                try? await Task.sleep(for: .seconds(2))
                count += 1
            }
            note()
        }
    }

    private static let own = DispatchQueue(label: "of the program")

    /// Ways to wait for 10 s.
    static let waits: [(name: String, wait: @Sendable (@escaping @Sendable () -> Void) -> Void)] = [
        ("asyncAfter on main", { note in DispatchQueue.main.asyncAfter(deadline: .now() + 10) { note() } }),
        ("asyncAfter on an own queue", { note in own.asyncAfter(deadline: .now() + .seconds(10)) { note() } }),
        (
            "asyncAfter of a work item",
            { note in
                DispatchQueue.global().asyncAfter(deadline: .now() + 10, execute: DispatchWorkItem { note() })
            }
        ),
        (
            "asyncAfter from another queue",
            { note in
                DispatchQueue.global().async { own.async { DispatchQueue.main.asyncAfter(deadline: .now() + 10) { note() } } }
            }
        ),
        (
            "a group of blocks",
            { note in
                let group = DispatchGroup()
                for delay in [3, 10] {
                    group.enter()
                    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(delay)) { group.leave() }
                }
                DispatchQueue.global().async(group: group) {}
                group.notify(queue: .main) { note() }
            }
        ),
        (
            "Task.sleep",
            { note in
                Task {
                    try? await Task.sleep(for: .seconds(10))
                    note()
                }
            }
        ),
        (
            "Task.sleep in nanoseconds",
            { note in
                Task {
                    try? await Task.sleep(nanoseconds: 10_000_000_000)
                    note()
                }
            }
        ),
        (
            "a clock, detached",
            { note in
                Task.detached {
                    try? await ContinuousClock().sleep(for: .seconds(4))
                    try? await SuspendingClock().sleep(until: .now + .seconds(6))
                    note()
                }
            }
        ),
        (
            "Task.sleep on the main actor",
            { note in
                Task { @MainActor in
                    try? await Task.sleep(for: .seconds(10))
                    MainActor.assertIsolated()
                    note()
                }
            }
        ),
        ("an actor", { note in Task { await Sleeper().sleep(5, note) } }),
        (
            "hops between actors",
            { note in
                Task {
                    for _ in 0..<5 {
                        await MainActor.run {}
                        await Task { try? await Task.sleep(for: .seconds(2)) }.value
                    }
                    note()
                }
            }
        ),
        (
            "a time-out in a group",
            { note in
                Task {
                    await withTaskGroup(of: Void.self) { group in
                        group.addTask { try? await Task.sleep(for: .seconds(3_600)) }
                        group.addTask { try? await Task.sleep(for: .seconds(10)) }
                        await group.next()
                        group.cancelAll()
                    }
                    note()
                }
            }
        ),
    ]

    private static let queues: [(name: String, queue: DispatchQueue?)] = [("nil", nil), ("main", .main), ("own", own)]

    /// A wait of a delegate ends after 10 s of virtual time, whatever its queue.
    @Test(arguments: waits.indices, queues.indices) func aWaitTakesVirtualTime(wait: Int, queue: Int) {
        let (row, bench) = (Self.waits[wait], CBBench())
        let (phone, times, start) = (bench.phone("phone"), Times(bench), Times(bench))
        let app = ReadyApp(on: phone, queue: Self.queues[queue].queue) { _ in
            start.note()
            row.wait { times.note() }
        }
        bench.run(for: 60)
        let begun = start.all.first ?? 0
        #expect(
            times.all.count == 1 && abs((times.all.first ?? 0) - begun - 10) < 0.01, "\(row.name), \(Self.queues[queue].name): \(times.all)"
        )
        #expect(app.manager.state == .poweredOn)
    }

    /// The same from code of the test, between the runs.
    @Test(arguments: waits.indices) func aWaitOfTheTestTakesVirtualTime(wait: Int) {
        let (row, bench) = (Self.waits[wait], CBBench())
        let times = Times(bench)
        row.wait { times.note() }
        bench.run(for: 9.9)
        #expect(times.all.isEmpty, "\(row.name)")
        bench.run(for: 0.2)
        #expect(times.all.count == 1, "\(row.name)")
    }

    /// A timer of the tutorial: the scan ends after 10 s. It belongs to the run loop of the delegate's thread.
    @Test func theScanTimerEndsTheScan() {
        let bench = CBBench()
        let (phone, times) = (bench.phone("phone"), Times(bench))
        let app = ReadyApp(on: phone, queue: nil) { manager in
            manager.scanForPeripherals(withServices: nil)
            let manager = Carried(manager)
            _ = Timer.scheduledTimer(withTimeInterval: 10, repeats: false) { _ in
                manager.value.stopScan()
                times.note()
            }
        }
        #expect(bench.run { app.manager.isScanning })
        let start = bench.now
        #expect(bench.run(within: 20) { !app.manager.isScanning })
        #expect(times.all.count == 1 && abs((times.all.first ?? 0) - start - 10) < 0.01)
    }

    /// A timer that repeats, and one that is stopped; hours are as good as seconds.
    @Test func timersRepeatAndEnd() {
        let bench = CBBench()
        let (every, never) = (Times(bench), Times(bench))
        let timer = Timer.scheduledTimer(withTimeInterval: 600, repeats: true) { _ in every.note() }
        let stopped = Timer.scheduledTimer(withTimeInterval: 5, repeats: false) { _ in never.note() }
        bench.run(for: 4)
        stopped.invalidate()
        bench.run(for: 600 * 12 - 4 + 1)
        timer.invalidate()
        bench.run(for: 1_500)
        #expect(never.all.isEmpty)
        #expect(every.all.count == 12 && zip(every.all, 1...).allSatisfy { abs($0 - Double($1) * 600) < 0.1 })
    }

    /// A view model on the main actor whose delegate calls come on the main queue.
    @MainActor private final class ViewModel: NSObject, CBCentralManagerDelegate {
        private var manager: CBCentralManager?
        private(set) var names: [String] = []
        private(set) var isSearching = false

        func start(on phone: CBPhone) { manager = phone.use { CBCentralManager(delegate: self, queue: .main) } }

        nonisolated func centralManagerDidUpdateState(_ central: CBCentralManager) {
            MainActor.assumeIsolated {
                guard manager?.state == .poweredOn else { return }
                manager?.scanForPeripherals(withServices: nil)
                isSearching = true
                Task {
                    try? await Task.sleep(for: .seconds(10))
                    manager?.stopScan()
                    isSearching = false
                }
            }
        }

        nonisolated func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
        ) {
            let name = peripheral.name ?? ""
            Task { @MainActor in names.append(name) }
        }
    }

    /// From the main actor, where the test itself occupies the main queue, and from another thread.
    @Test func aViewModelOnTheMainActorWorks() async {
        let model = await ViewModel()
        let seen: (names: [String], searches: [Bool]) = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let pair = Pair()
                let phone = Carried(pair.phone)
                DispatchQueue.main.async { MainActor.assumeIsolated { model.start(on: phone.value) } }
                var searches: [Bool] = []
                for seconds in [9.0, 2.0] {
                    pair.bench.run(for: seconds)
                    searches.append(DispatchQueue.main.sync { MainActor.assumeIsolated { model.isSearching } })
                }
                let names = DispatchQueue.main.sync { MainActor.assumeIsolated { model.names } }
                continuation.resume(returning: (names, searches))
            }
        }
        #expect(seen.names == ["monitor"] && seen.searches == [true, false])
    }

    /// Each bench has a clock of its own, also beside another one.
    @Test func eachBenchHasItsClock() {
        let results = (0..<4).map { _ in Result() }
        for (index, result) in results.enumerated() {
            Thread.detachNewThread {
                let bench = CBBench(seed: UInt64(index))
                let times = Times(bench)
                for seconds in 1...20 {
                    Task {
                        try? await Task.sleep(for: .seconds(seconds * (index + 1)))
                        times.note()
                    }
                }
                bench.run(for: 100)
                result.times.withLock { $0 = times.all }
                result.done.signal()
            }
        }
        for (index, result) in results.enumerated() {
            result.done.wait()
            let times = result.times.withLock { $0 }
            #expect(times.count == 20 && zip(times, 1...).allSatisfy { abs($0 - Double($1 * (index + 1))) < 0.01 })
        }
    }

    private final class Result: Sendable {
        let done = DispatchSemaphore(value: 0)
        let times = Mutex<[Double]>([])
    }

    /// A block that waits for the bench itself does not stop it for ever, and goes on later.
    @Test func aBlockThatWaitsIsLeftBehind() {
        let bench = CBBench()
        let (gate, times) = (DispatchSemaphore(value: 0), Times(bench))
        DispatchQueue.global().async {
            gate.wait()
            times.note()
        }
        bench.run(for: 5)
        #expect(times.all.isEmpty && bench.now >= 5)
        gate.signal()
        bench.after(1) {}
        #expect(bench.run(within: 600) { !times.all.isEmpty })
    }
}
