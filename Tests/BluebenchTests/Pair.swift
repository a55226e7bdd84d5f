import Bluebench

/// Two hosts on one air in virtual time, and the connection between them.
struct Pair {
    let bench: Bench
    let phone: BluetoothHost
    let sensor: BluetoothHost
    /// Services of the sensor, in the order in which they were given.
    let published: [PublishedService]
    /// The phone's end.
    let connection: Connection

    /// Runs a test with a connected pair.
    static func run<Value>(
        seed: UInt64 = 1, publishing services: [LocalService] = [], prepare: @escaping (Bench) throws -> Void = { _ in },
        _ body: @escaping (Pair) async throws -> Value
    ) throws -> Value {
        let bench = Bench(seed: seed)
        defer { bench.close() }
        try prepare(bench)
        return try bench.run {
            let (sensor, phone) = (try await bench.simulated("Sensor"), try await bench.simulated("Phone"))
            let published = services.map { sensor.publish($0) }
            _ = try await sensor.advertise()
            let connection = try await phone.connect(to: try await phone.find(named: "Sensor"))
            return try await body(Pair(bench: bench, phone: phone, sensor: sensor, published: published, connection: connection))
        }
    }

    /// The sensor's end of the connection.
    var other: Connection? { sensor.connections.first }
}

extension BluetoothUUID {
    static let service: BluetoothUUID = 0xFF00
    static let value: BluetoothUUID = 0xFF01
}

/// Kinds and texts of errors, for tables.
func reason(of body: () async throws -> Void) async -> BluetoothError? {
    do { try await body() } catch { return error as? BluetoothError }
    return nil
}
