import BBHost
import BBPackets

/// Client of the throughput service on one link.
struct ThroughputClient {
    let link: Connection
    private let source: RemoteCharacteristic?
    let sink: UInt16
    private let control: UInt16
    private let counters: UInt16

    /// Discovers the service.
    ///
    /// - Throws: `MeasurementFailure` if the server lacks the service or a part of it, `HostError`.
    init(discoveringOn link: Connection) async throws {
        self.link = link
        guard let service = try await link.gatt.discoverServices(uuid: ThroughputService.service).first else {
            throw MeasurementFailure("the server has no throughput service (docs/guide/throughput-service.md)")
        }
        let found = try await link.gatt.discoverCharacteristics(in: service)
        func characteristic(_ uuid: BluetoothUUID, _ name: String) throws -> RemoteCharacteristic {
            guard let one = found.first(where: { $0.uuid == uuid }) else {
                throw MeasurementFailure("the server's throughput service lacks \(name) (\(uuid))")
            }
            return one
        }
        source = try characteristic(ThroughputService.source, "Source")
        sink = try characteristic(ThroughputService.sink, "Sink").value
        control = try characteristic(ThroughputService.control, "Control").value
        counters = try characteristic(ThroughputService.counters, "Counters").value
    }

    /// A client of a single characteristic.
    init(link: Connection, characteristic: RemoteCharacteristic) {
        self.link = link
        (source, sink, control, counters) = (characteristic, characteristic.value, 0, 0)
    }

    /// A client of a product's L2CAP channel.
    init(link: Connection) {
        self.link = link
        (source, sink, control, counters) = (nil, 0, 0, 0)
    }

    func subscribe(_ handler: @escaping (RawSpan) -> Void) async throws {
        guard let source else { throw MeasurementFailure("there is no characteristic to subscribe to") }
        try await link.gatt.subscribe(source) { _, _, value in handler(value) }
    }

    func command(_ command: ThroughputService.Command) async throws { try await link.gatt.write(control, command.octets) }

    func readCounters() async throws -> ThroughputService.Counters {
        let value = try await link.gatt.readLong(counters)
        guard let counters = ThroughputService.Counters(octets: value) else {
            throw MeasurementFailure("Counters of \(value.count) octets, 28 expected")
        }
        return counters
    }

    /// A flow of write commands, on the fixed channel or on Enhanced ATT bearers.
    func writer(length: Int, over bearers: [EnhancedBearer] = []) -> FlowSender {
        let (link, sink) = (link, sink)
        guard bearers.isEmpty else {
            return FlowSender(link, over: bearers, length: length) { $0.gatt.tryWriteCommand(sink, $1) }
        }
        return FlowSender(link, length: length) { link.gatt.tryWriteCommand(sink, $0) }
    }
}

/// Reason why a row has no result; the subject's fault unless stated otherwise.
public struct MeasurementFailure: Error, Sendable, CustomStringConvertible {
    public var description: String
    public var isEnvironment: Bool

    public init(_ text: String, isEnvironment: Bool = false) {
        description = text
        self.isEnvironment = isEnvironment
    }
}
