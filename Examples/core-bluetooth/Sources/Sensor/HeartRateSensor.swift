import CoreBluetooth

/// The Bluetooth of an app that is a heart rate sensor: it advertises its services, answers requests and sends heart rates to those that
/// have subscribed.
public final class HeartRateSensor: NSObject, CBPeripheralManagerDelegate {
    public enum Phase: Sendable, Equatable {
        case off, preparing, advertising
        case failed(String)
    }

    public private(set) var phase = Phase.off
    /// Centrals that receive the heart rates.
    public private(set) var subscribers: [CBCentral] = []
    /// Number of subscriptions so far.
    public private(set) var subscriptions = 0
    /// Energy expended in kilojoule; a central sets it to 0.
    public private(set) var energy = 5
    /// Battery level in percent, which is read each time.
    public var batteryLevel: UInt8 = 90

    /// Flags of a value: a heart rate of 8 bits, and the energy.
    private static let hasEnergy: UInt8 = 0x08
    private static let resetEnergy = Data([1])
    /// The error of the Heart Rate Service for another value.
    private static let controlPointNotSupported = CBATTError.Code(rawValue: 0x80)

    private let rate = CBMutableCharacteristic(type: CBUUID(string: "2A37"), properties: .notify, value: nil, permissions: .readable)
    /// The chest.
    private let location = CBMutableCharacteristic(
        type: CBUUID(string: "2A38"), properties: .read, value: Data([1]), permissions: .readable)
    private let control = CBMutableCharacteristic(type: CBUUID(string: "2A39"), properties: .write, value: nil, permissions: .writeable)
    private let battery = CBMutableCharacteristic(type: CBUUID(string: "2A19"), properties: .read, value: nil, permissions: .readable)
    private let services: [CBMutableService]
    private let name: String
    private var added = 0
    /// Values that the system had no room for, oldest first.
    private var waiting: [Data] = []
    private var manager: CBPeripheralManager!

    public init(name: String = "Sensor", queue: DispatchQueue? = nil) {
        self.name = name
        services = [
            CBMutableService(type: CBUUID(string: "180D"), primary: true), CBMutableService(type: CBUUID(string: "180F"), primary: true),
        ]
        super.init()
        services[0].characteristics = [rate, location, control]
        services[1].characteristics = [battery]
        manager = CBPeripheralManager(delegate: self, queue: queue)
    }

    /// Sends a heart rate, in beats per minute, to all subscribers.
    public func send(_ beats: UInt8) {
        waiting.append(Data([Self.hasEnergy, beats, UInt8(energy & 0xFF), UInt8(energy >> 8)]))
        sendWaiting()
    }

    /// True once everything has been sent.
    public var isIdle: Bool { waiting.isEmpty }

    private func sendWaiting() {
        while let value = waiting.first, manager.updateValue(value, for: rate, onSubscribedCentrals: nil) { waiting.removeFirst() }
    }

    public func stop() {
        manager.stopAdvertising()
        phase = .off
    }

    // MARK: The manager

    public func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        switch peripheral.state {
        case .poweredOn: prepare()
        case .unauthorized: phase = .failed("no permission")
        case .unsupported: phase = .failed("no Bluetooth")
        case .poweredOff, .resetting, .unknown:
            phase = .off
            subscribers.removeAll()
        }
    }

    private func prepare() {
        phase = .preparing
        guard added == 0 else { return advertise() }
        for service in services { manager.add(service) }
    }

    private func advertise() {
        manager.startAdvertising([CBAdvertisementDataLocalNameKey: name, CBAdvertisementDataServiceUUIDsKey: [services[0].uuid]])
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error {
            phase = .failed("\(error)")
            return
        }
        added += 1
        if added == services.count { advertise() }
    }

    public func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        phase = error.map { .failed("\($0)") } ?? .advertising
    }

    // MARK: Centrals

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        subscribers.append(central)
        subscriptions += 1
    }

    public func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        subscribers.removeAll { $0 == central }
        if subscribers.isEmpty { waiting.removeAll() }
    }

    public func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { sendWaiting() }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        guard request.characteristic.uuid == battery.uuid else { return peripheral.respond(to: request, withResult: .readNotPermitted) }
        guard request.offset <= 1 else { return peripheral.respond(to: request, withResult: .invalidOffset) }
        request.value = Data([batteryLevel]).dropFirst(request.offset)
        peripheral.respond(to: request, withResult: .success)
    }

    public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        guard requests.allSatisfy({ $0.value == Self.resetEnergy }) else {
            return peripheral.respond(to: first, withResult: Self.controlPointNotSupported ?? .unlikelyError)
        }
        energy = 0
        peripheral.respond(to: first, withResult: .success)
    }
}
