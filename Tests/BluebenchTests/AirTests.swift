import Bluebench
import Testing

/// Advertising, scanning, and the link.
@Suite struct AirTests {
    /// Advertised structures are received, wherever they fit.
    @Test(arguments: ["Sensor", "A sensor with a long name"]) func anAdvertisementIsReceived(name: String) throws {
        let bench = Bench()
        defer { bench.close() }
        try bench.run {
            let (sensor, phone) = (try await bench.simulated(name), try await bench.simulated("Phone"))
            var options = AdvertisingOptions(services: [0x180D, BluetoothUUID(long: 0x1234)])
            options.services.removeLast(name.count > 10 ? 0 : 1)
            options.manufacturerData = [0xFFFF: [1, 2]]
            let advertising = try await sensor.advertise(options)
            let seen = try await phone.scan(for: .seconds(2))
            #expect(seen.count == 1 && seen.first?.address == sensor.address)
            let first = try #require(seen.first)
            #expect(first.name == name && first.services == options.services && first.isConnectable)
            #expect(first.manufacturerData(company: 0xFFFF) == [1, 2])
            #expect(first.data.count <= 31 && first.scanResponse.isEmpty == (name.count < 10))
            try await advertising.stop()
            #expect(try await phone.scan(for: .seconds(2)).isEmpty)
        }
    }

    @Test func aScanReportsEachPacketUntilItIsStopped() throws {
        try withTwo { bench, sensor, phone in
            var seen: [Advertisement] = []
            let scan = try await phone.scan { seen.append($0) }
            var options = AdvertisingOptions()
            options.interval = .milliseconds(50)
            _ = try await sensor.advertise(options)
            try await bench.sleep(for: .seconds(1))
            try await scan.stop()
            #expect(seen.count > 10 && !scan.isRunning)
            let count = seen.count
            try await bench.sleep(for: .seconds(1))
            #expect(seen.count == count)
        }
    }

    @Test func bothEndsSeeTheConnection() throws {
        try withTwo { bench, sensor, phone in
            var early: [Connection] = []
            sensor.onConnection = { early.append($0) }
            let advertising = try await sensor.advertise(service: 0x180F)
            let advertisement = try await phone.find(service: 0x180F)
            let connection = try await phone.connect(to: advertisement, interval: .milliseconds(15))
            let other = try await advertising.connection()
            #expect(connection.role == .central && other.role == .peripheral && early.count == 1 && early.first === other)
            #expect(connection.peer == sensor.address && other.peer == phone.address)
            #expect(connection.interval == .milliseconds(15) && other.interval == .milliseconds(15) && !advertising.isRunning)
            var reasons: [ErrorCode] = []
            other.onDisconnection = { reasons.append($0) }
            try await connection.disconnect()
            #expect(try await other.ended() == .remoteUserTerminatedConnection)
            #expect(reasons == [.remoteUserTerminatedConnection] && phone.connections.isEmpty && sensor.connections.isEmpty)
        }
    }

    @Test func theLinkIsChanged() throws {
        try Pair.run { pair in
            try await pair.connection.updateParameters(interval: .milliseconds(50) ... .milliseconds(50), supervisionTimeout: .seconds(4))
            #expect(pair.connection.interval == .milliseconds(50))
            try await pair.connection.updatePHY(.le2M)
            #expect(pair.connection.phys == (.le2M, .le2M))
            try await pair.connection.updateDataLength()
            #expect(try await pair.connection.readRSSI() < 0)
        }
    }

    /// Runs a test with two hosts.
    private func withTwo(_ body: @escaping (Bench, BluetoothHost, BluetoothHost) async throws -> Void) throws {
        let bench = Bench()
        defer { bench.close() }
        try bench.run { try await body(bench, try await bench.simulated("Sensor"), try await bench.simulated("Phone")) }
    }
}
