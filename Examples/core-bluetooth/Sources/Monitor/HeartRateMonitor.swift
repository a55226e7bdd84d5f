import CoreBluetooth

/// The Bluetooth of an app: it keeps a connection to one heart rate monitor and shows its values.
public final class HeartRateMonitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    public enum Phase: Sendable, Equatable {
        case off, scanning, connecting, preparing, running
        case failed(String)
    }

    private let serviceUUID = CBUUID(string: "180D")
    private let rateUUID = CBUUID(string: "2A37")
    private let locationUUID = CBUUID(string: "2A38")
    private let controlUUID = CBUUID(string: "2A39")

    public private(set) var phase = Phase.off
    public private(set) var rates: [Int] = []
    public private(set) var location: Int?
    /// The result of the last `resetEnergy()`: nil while it is under way.
    public private(set) var isReset: Bool?
    public private(set) var connections = 0
    /// Stores the identifier of the monitor between launches.
    public var identifier: UUID?

    private var central: CBCentralManager!
    private var peripheral: CBPeripheral?
    private var characteristics: [CBUUID: CBCharacteristic] = [:]

    public init(identifier: UUID? = nil, queue: DispatchQueue? = nil) {
        self.identifier = identifier
        super.init()
        central = CBCentralManager(delegate: self, queue: queue)
    }

    /// Ends the connection for good.
    public func stop() {
        phase = .off
        identifier = nil
        if let peripheral { central.cancelPeripheralConnection(peripheral) }
    }

    /// Resets the energy that the monitor has counted; it may ask for a pairing.
    public func resetEnergy() {
        guard phase == .running, let control = characteristics[controlUUID] else { return }
        isReset = nil
        peripheral?.writeValue(Data([1]), for: control, type: .withResponse)
    }

    // MARK: The central

    public func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn: start()
        case .unauthorized: phase = .failed("no permission")
        case .unsupported: phase = .failed("no Bluetooth")
        case .poweredOff, .resetting, .unknown: phase = .off
        }
    }

    private func start() {
        if let identifier, let known = central.retrievePeripherals(withIdentifiers: [identifier]).first { return connect(known) }
        phase = .scanning
        central.scanForPeripherals(withServices: [serviceUUID])
    }

    private func connect(_ peripheral: CBPeripheral) {
        self.peripheral = peripheral
        peripheral.delegate = self
        phase = .connecting
        central.connect(peripheral)
    }

    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
    ) {
        guard self.peripheral == nil else { return }
        central.stopScan()
        identifier = peripheral.identifier
        connect(peripheral)
    }

    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        connections += 1
        phase = .preparing
        peripheral.discoverServices([serviceUUID])
    }

    public func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        if (error as? CBError)?.code == .peerRemovedPairingInformation {
            phase = .failed("forget the monitor in the settings")
        } else {
            connect(peripheral)
        }
    }

    public func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?) {
        characteristics.removeAll()
        guard phase != .off else { return }
        // A lost monitor is connected again when it is back in range.
        connect(peripheral)
    }

    // MARK: The peripheral

    public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let service = peripheral.services?.first else {
            phase = .failed("no heart rate service")
            return
        }
        peripheral.discoverCharacteristics([rateUUID, locationUUID, controlUUID], for: service)
    }

    public func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
        for characteristic in service.characteristics ?? [] { characteristics[characteristic.uuid] = characteristic }
        guard let rate = characteristics[rateUUID] else {
            phase = .failed("no heart rate")
            return
        }
        peripheral.setNotifyValue(true, for: rate)
        if let location = characteristics[locationUUID] { peripheral.readValue(for: location) }
    }

    public func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        phase = characteristic.isNotifying ? .running : .failed("no notifications")
    }

    public func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
        guard error == nil, let value = characteristic.value, !value.isEmpty else { return }
        switch characteristic.uuid {
        case rateUUID: if value.count > 1 { rates.append(Int(value[value.startIndex + 1])) }
        case locationUUID: location = Int(value[value.startIndex])
        default: break
        }
    }

    public func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
        isReset = error == nil
    }

    public func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        phase = .preparing
        peripheral.discoverServices([serviceUUID])
    }
}
