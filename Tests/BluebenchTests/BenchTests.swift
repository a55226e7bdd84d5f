import Bluebench
import Foundation
import Testing

/// Time, seeds, files and selectors of a bench.
@Suite struct BenchTests {
    private func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bluebench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// The recording of a pair that connects, pairs and reads.
    private func recording(seed: UInt64, in folder: URL) throws -> Data {
        let path = folder.appending(path: "\(UUID().uuidString).pcapng").path()
        let record = { (bench: Bench) in try bench.record(to: path) }
        try Pair.run(seed: seed, prepare: record) { pair in
            try await pair.connection.pair()
            _ = try await pair.connection.discover()
            try pair.bench.stopRecording()
        }
        return try Data(contentsOf: URL(filePath: path))
    }

    @Test func equalSeedsGiveEqualPackets() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try recording(seed: 3, in: folder)
        #expect(first.count > 5_000 && first.starts(with: [0x0A, 0x0D, 0x0D, 0x0A]))
        #expect(try recording(seed: 3, in: folder) == first)
        #expect(try recording(seed: 4, in: folder) != first)
    }

    @Test func aDayPassesWithAConnection() throws {
        try Pair.run { pair in
            try await pair.connection.updateParameters(
                interval: .seconds(4) ... .seconds(4), latency: 2, supervisionTimeout: .seconds(32))
            try await pair.bench.sleep(for: .seconds(86_400))
            #expect(pair.bench.now >= .seconds(86_400) && pair.connection.isConnected && pair.bench.packetsOnAir > 10_000)
        }
    }

    /// A second bench runs between two waits of the first one's thread, and others on threads of their own.
    @Test func benchesAreIndependent() async throws {
        try Pair.run(seed: 1) { pair in
            let before = pair.bench.now
            try Pair.run(seed: 2) { other in try await other.bench.sleep(for: .seconds(5)) }
            #expect(pair.bench.now == before && pair.connection.isConnected)
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { try Pair.run(seed: 9) { $0.bench.packetsOnAir } } }
            let counts = try await group.reduce(into: Set<Int>()) { $0.insert($1) }
            #expect(counts.count == 1)
        }
    }

    @Test func aTaskRunsBesideItsCreator() throws {
        let bench = Bench()
        try bench.run {
            let task = bench.start {
                try await bench.sleep(for: .seconds(3))
                return 5
            }
            let value = try await task.value()
            #expect(value == 5 && bench.now == .seconds(3) && task.isOver)
            let cancelled = bench.start { try await bench.sleep(for: .seconds(3)) }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value() }
            #expect(bench.now == .seconds(3))
        }
    }

    /// Limits, and what cannot be.
    @Test func errorsSayWhoIsResponsible() throws {
        let bench = Bench()
        defer { bench.close() }
        try bench.run {
            let phone = try await bench.simulated("Phone")
            let errors = [
                await reason { _ = try await phone.find(named: "Nobody", within: .seconds(1)) },
                await reason { _ = try await phone.connect(to: DeviceAddress(value: 1), within: .seconds(1)) },
                await reason { try await bench.wait(within: .seconds(1)) { false } },
                await reason { _ = try await bench.open("tcp:127.0.0.1:1") }, await reason { _ = try await bench.open("usb:x") },
                await reason { try bench.stopRecording() }, await reason { try bench.record(to: "/nowhere/at/all.pcapng") },
            ]
            #expect(errors.map { $0?.origin } == [.environment, .peer, .environment, .caller, .caller, nil, .environment])
            #expect(errors.prefix(3).allSatisfy { $0?.reason == .timedOut })
            #expect(errors.allSatisfy { $0?.description.isEmpty != true })
        }
    }

    @Test func aRunThatCannotEndIsAnError() throws {
        let bench = Bench()
        let error = #expect(throws: BluetoothError.self) {
            try bench.run { try await withUnsafeThrowingContinuation { (_: UnsafeContinuation<Void, any Error>) in } }
        }
        #expect(error?.description.contains("stalled") == true && error?.origin == .caller)
    }

    struct Row: Sendable {
        var selector: String
        var time: Bench.Time?
    }

    @Test(arguments: [
        Row(selector: "virtual", time: .virtual), Row(selector: "usb:1-2", time: .real), Row(selector: "tcp:localhost:6401", time: .real),
        Row(selector: "tcp:localhost:6401,virtual-time", time: .virtual), Row(selector: "bluetooth", time: nil),
    ]) func aSelectorHasItsTime(row: Row) throws {
        guard let time = row.time else {
            #expect(throws: BluetoothError.self) { _ = try Bench(for: row.selector) }
            return
        }
        #expect(try Bench(for: row.selector).time == time)
    }

    /// A host of a second bench opens the controller that the first one offers. In real time both benches are in one process.
    @Test func anOfferedControllerIsOpened() throws {
        let bench = Bench(.real)
        defer { bench.close() }
        let dongle = try #require(try bench.offer().first)
        #expect(dongle.selector == "tcp:127.0.0.1:\(dongle.port)")
        try bench.run {
            let remote = try await bench.open(dongle.selector, named: "Remote")
            let local = try await bench.simulated("Local")
            _ = try await remote.advertise()
            let found = try await local.find(named: "Remote", within: .seconds(60))
            #expect(found.address == dongle.address)
            let connection = try await local.connect(to: found, within: .seconds(60))
            #expect(try await connection.discover().services.count == 2)
        }
        #expect(throws: BluetoothError.self) { try bench.offer() }
    }

    @Test func bondsAreKeptInAFile() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "bonds.json").path()
        for turn in 0..<2 {
            let bench = Bench(seed: 5)
            defer { bench.close() }
            try bench.run {
                let (sensor, phone) = (try await bench.simulated("Sensor"), try await bench.open("virtual", named: "Phone", bonds: path))
                #expect(phone.bonds == (turn == 0 ? [] : [sensor.address]))
                _ = try await sensor.advertise()
                let connection = try await phone.connect(to: sensor.address)
                if turn == 0 { try await connection.pair() }
            }
        }
        #expect(try Data(contentsOf: URL(filePath: path)).count > 100)
    }
}
