import BBPackets
import Bench
import Bluebench
import Capture
import Cases
import CoreBluetooth
import HTTP
import History
import Host
import L2CAP
import Packets
import Products
import Report
import Sessions
import Throughput
import Timing
import Traffic
import Transport

/// A constant of each of the fifteen targets.
public let own = [
    ownBench, ownCapture, ownCases, ownHTTP, ownHistory, ownHost, ownL2CAP, ownPackets, ownProducts, ownReport, ownSessions, ownThroughput,
    ownTiming, ownTraffic, ownTransport,
]

/// Reads the level of the first battery in range.
public func batteryLevel(with host: BluetoothHost) async throws -> UInt8? {
    let connection = try await host.connect(to: try await host.find(service: 0x180F))
    return try await connection.read(try await connection.discover().characteristic(0x2A19)).first
}

/// A scanner with Core Bluetooth.
public final class Scanner: NSObject, CBCentralManagerDelegate {
    public private(set) var names: [String] = []
    private var manager: CBCentralManager?

    public func start() { manager = CBCentralManager(delegate: self, queue: nil) }

    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
    ) {
        if let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String { names.append(name) }
    }
}

/// The packet that resets a controller.
public var reset: [UInt8] { HCIPacket(command: HCICommands.Reset()).bytes }
