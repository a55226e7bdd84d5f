import BBHost
import BBPackets
import BBProducts
import CoreBluetooth

/// An accessory on the air of a bench, made from a description such as `bluebench survey > device.yaml` writes.
///
/// Its calls belong to the thread of the bench, between its runs.
public final class CBAccessory {
    /// The advertised name.
    public let name: String
    private let bench: CBBench
    private let host: PhoneHost
    private let served: ServedAccessory

    /// - Parameter path: the file with the description.
    /// - Throws: all mistakes in the description, each with line and column.
    public init(_ path: String, on bench: CBBench) throws {
        let description = try DeviceDescription.load(path)
        self.bench = bench
        name = description.device.name ?? path
        host = bench.host(name, database: description.database)
        served = ServedAccessory(description, on: host)
        let (host, served) = (host, served)
        bench.start {
            try await host.start()
            await served.start()
        }
    }

    /// Seconds before each response to a read or write; 0 for an answer at once.
    public var responseDelay: Double = 0 {
        didSet { served.responseDelay = .seconds(min(max(0, responseDelay), 86_400)) }
    }

    /// Removes the keys of all centrals, as a factory reset does.
    public func forgetBonds() {
        for bond in host.keys.all { host.keys.remove(PeerIdentity(bond.identity)) }
    }

    /// Ends the connections.
    public func disconnect() {
        for link in host.connections { bench.start { try await link.disconnect() } }
    }

    /// Notifies or indicates a value of the first characteristic with a UUID to all subscribers.
    public func send(_ value: [UInt8], of uuid: CBUUID) {
        let characteristics = host.database.services.flatMap(\.characteristics)
        guard let handle = characteristics.first(where: { CBUUID($0.uuid) == uuid })?.value else { return }
        for link in host.connections where link.configuration(of: handle) != 0 {
            let isIndication = link.configuration(of: handle) & 1 == 0
            bench.start {
                if isIndication { try await link.indicate(handle, value) } else { try await link.notify(handle, value) }
            }
        }
    }
}
