import BBHost
import BBPackets
import Foundation

public enum CBPeripheralState: Int, Sendable, Hashable {
    case disconnected = 0
    case connecting = 1
    case connected = 2
    case disconnecting = 3
}

/// A remote device, as one manager sees it. Releasing it ends its connection.
open class CBPeripheral: CBPeer {
    open weak var delegate: (any CBPeripheralDelegate)?
    /// The Device Name of the Generic Access service once the phone has read it, before that the advertised name.
    open internal(set) var name: String?
    open internal(set) var state = CBPeripheralState.disconnected
    /// True if the user lets the device read notifications.
    open var ancsAuthorized: Bool { phone.directory.readsNotifications(identifier) }
    /// The last RSSI that was read while connected, in dBm.
    @available(*, deprecated, message: "use peripheral(_:didReadRSSI:error:)")
    open var rssi: NSNumber? { lastRSSI }
    private var lastRSSI: NSNumber?
    /// The services found so far; nil before discovery.
    open internal(set) var services: [CBService]?
    weak var manager: CBCentralManager?
    /// Connected before the program was launched again; `didConnect` follows.
    var isUnreported = false
    /// False after a state of the manager below powered off.
    var isValid = true
    /// Cancellations that the phone has not confirmed.
    private var cancellations = 0
    /// A request for a connection came while the device was disconnecting.
    private var isWantedAgain = false
    /// ATT_MTU of the connection.
    var mtu = 23
    /// Commands that have not left this phone.
    private var commandsUnderWay = 0
    private let phone: CBPhone
    let port: CentralPort

    /// Commands that a phone holds for one peripheral.
    static let commandLimit = 20

    init(identifier: UUID, manager: CBCentralManager, port: CentralPort) {
        self.manager = manager
        phone = manager.phone
        self.port = port
        super.init(identifier: identifier)
    }

    deinit {
        guard state != .disconnected else { return }
        if manager != nil, state != .disconnecting {
            phone.misuse("Cancelling connection for unused peripheral \(text), Did you forget to keep a reference to it?")
        }
        let (phone, port, identifier) = (phone, port, identifier)
        phone.enter { phone.connecting.cancel(identifier, for: port) }
    }

    /// The peripheral in a line.
    var text: String { "<CBPeripheral: identifier = \(identifier), name = \(name ?? "(null)"), state = \(state)>" }

    // MARK: Requests for a connection

    /// The state that the requests of the program lead to.
    var wantedState: CBPeripheralState { isWantedAgain ? .connecting : state }

    /// - Returns: false if the request changes nothing.
    func beginConnecting() -> Bool {
        switch state {
        case .connecting, .connected: return false
        case .disconnected: state = .connecting
        case .disconnecting:
            guard !isWantedAgain else { return false }
            isWantedAgain = true
        }
        return true
    }

    func beginCancelling() {
        state = .disconnecting
        isUnreported = false
        isWantedAgain = false
        cancellations += 1
    }

    /// The phone confirms each cancellation, in order.
    ///
    /// - Returns: true if it was the last one, and the program is to be told.
    func endCancelling() -> Bool {
        guard cancellations > 0 else { return false }
        cancellations -= 1
        guard cancellations == 0, state == .disconnecting else { return false }
        let isWantedAgain = isWantedAgain
        disconnected()
        if isWantedAgain { state = .connecting }
        return true
    }

    /// Runs an operation on the connection; reports a misuse if there is none.
    func perform(_ name: StaticString, _ operation: @escaping (PhonePeer) -> Void) {
        guard state == .connected else {
            return phone.misuse("\(text) can only accept commands while in the connected state: \(name)")
        }
        let (phone, identifier) = (phone, identifier)
        phone.enter { phone.connecting.peer(identifier).map(operation) }
    }

    /// Runs an operation on an attribute; one of an earlier connection or of another peripheral is an invalid handle.
    func perform(
        _ name: StaticString, of service: CBService?, failed: @escaping (CBPeripheral, any Error) -> Void,
        _ operation: @escaping (PhonePeer) -> Void
    ) {
        if let service, service.isValid, service.peripheral === self { return perform(name, operation) }
        if state == .connected {
            let found = service.map { "<CBService: UUID = \($0.uuid)>" } ?? "the service of the attribute"
            phone.misuse("\(found) is not a valid service for peripheral \(text): discover it again")
        }
        perform(name) { [port, identifier] _ in
            port.deliver(to: identifier) { failed($0, CBError(.invalidHandle)) }
        }
    }

    /// Reports a request whose result nobody receives.
    func needsDelegate(_ request: StaticString, _ method: StaticString) {
        guard delegate == nil, state == .connected else { return }
        phone.misuse("\(request) for peripheral \(text) while delegate is either nil or does not implement \(method)")
    }

    // MARK: Values

    /// True if a command is accepted now; otherwise `peripheralIsReady(toSendWriteWithoutResponse:)` follows.
    open var canSendWriteWithoutResponse: Bool { state == .connected && commandsUnderWay < Self.commandLimit }

    /// Longest value of one write: 512 octets, without response at most ATT_MTU - 3; 0 if not connected. Core Vol 3, Part F, 3.2.9.
    open func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
        guard state == .connected else { return 0 }
        return type == .withResponse ? AttributeValueLength.longest : AttributeValueLength.longest(inMTU: mtu)
    }

    open func readRSSI() {
        let port = port
        perform("readRSSI") { peer in
            peer.run(for: port) { link in
                try await link.readRSSI()
            } done: { peripheral, result in
                let rssi = NSNumber(value: (try? result.get()).map(Int.init) ?? 127)
                if case .success = result { peripheral.lastRSSI = rssi }
                peripheral.delegate?.peripheral(peripheral, didReadRSSI: rssi, error: result.failure)
            }
        }
    }

    open func readValue(for characteristic: CBCharacteristic) {
        needsDelegate("Reading characteristic value", "peripheral:didUpdateValueForCharacteristic:error:")
        let (port, handle) = (port, characteristic.handle)
        let failed: (CBPeripheral, any Error) -> Void = { $0.delegate?.peripheral($0, didUpdateValueFor: characteristic, error: $1) }
        perform("readValue", of: characteristic.service, failed: failed) { peer in
            peer.run(for: port, of: handle) { link in
                let value = try await link.gatt.readLong(handle)
                peer.cache.values[handle] = value
                return value
            } done: { peripheral, result in
                if let value = try? result.get() { characteristic.value = Data(value) }
                peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: result.failure)
            }
        }
    }

    open func readValue(for descriptor: CBDescriptor) {
        let (port, handle) = (port, descriptor.handle)
        let failed: (CBPeripheral, any Error) -> Void = { $0.delegate?.peripheral($0, didUpdateValueFor: descriptor, error: $1) }
        perform("readValue", of: descriptor.characteristic?.service, failed: failed) { peer in
            peer.run(for: port, of: handle) { link in
                try await link.gatt.readLong(handle)
            } done: { peripheral, result in
                if let value = try? result.get() { descriptor.value = descriptor.interpret(value) }
                peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: descriptor, error: result.failure)
            }
        }
    }

    /// A value longer than ATT_MTU - 3 becomes a queued write with response, and is cut without. More than 512 octets are an error with
    /// response, and are cut without.
    open func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
        let (port, handle, octets) = (port, characteristic.handle, [UInt8](data))
        guard type == .withResponse else { return command(octets, to: characteristic) }
        let failed: (CBPeripheral, any Error) -> Void = { $0.delegate?.peripheral($0, didWriteValueFor: characteristic, error: $1) }
        perform("writeValue", of: characteristic.service, failed: failed) { peer in
            peer.run(for: port, of: handle) { link in
                try CBAttribute.checkLength(octets)
                if octets.count > link.mtu - 3 {
                    try await link.gatt.writeLong(handle, octets)
                } else {
                    try await link.gatt.write(handle, octets)
                }
            } done: { peripheral, result in
                peripheral.delegate?.peripheral(peripheral, didWriteValueFor: characteristic, error: result.failure)
            }
        }
    }

    private func command(_ octets: [UInt8], to characteristic: CBCharacteristic) {
        let (port, handle, cut) = (port, characteristic.handle, [UInt8](octets.prefix(maximumWriteValueLength(for: .withoutResponse))))
        if state == .connected {
            guard characteristic.properties.contains(.writeWithoutResponse) else {
                return phone.warn(
                    "Characteristic <CBCharacteristic: UUID = \(characteristic.uuid), properties = "
                        + "0x\(String(characteristic.properties.rawValue, radix: 16, uppercase: true))> does not specify the "
                        + "\"Write Without Response\" property - ignoring response-less write")
            }
            if cut.count < octets.count {
                phone.warn("a write without response of \(octets.count) octets is cut to \(cut.count), maximumWriteValueLength(for:)")
            }
            commandsUnderWay += 1
        }
        let failed: (CBPeripheral, any Error) -> Void = { peripheral, _ in peripheral.commandLeft() }
        perform("writeValue", of: characteristic.service, failed: failed) { $0.command(handle, cut, for: port) }
    }

    /// The Client Characteristic Configuration cannot be written; use `setNotifyValue(_:for:)`.
    open func writeValue(_ data: Data, for descriptor: CBDescriptor) {
        precondition(
            descriptor.uuid.uuidString != CBUUIDClientCharacteristicConfigurationString,
            "CBPeripheral: use setNotifyValue(_:for:) for the Client Characteristic Configuration")
        let (port, handle, octets) = (port, descriptor.handle, [UInt8](data))
        let failed: (CBPeripheral, any Error) -> Void = { $0.delegate?.peripheral($0, didWriteValueFor: descriptor, error: $1) }
        perform("writeValue", of: descriptor.characteristic?.service, failed: failed) { peer in
            peer.run(for: port, of: handle) { link in
                try CBAttribute.checkLength(octets)
                try await link.gatt.write(handle, octets)
            } done: { peripheral, result in
                peripheral.delegate?.peripheral(peripheral, didWriteValueFor: descriptor, error: result.failure)
            }
        }
    }

    /// Enables notifications, or indications of a characteristic that cannot notify.
    open func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
        let (port, handles) = (port, characteristic.handles)
        let failed: (CBPeripheral, any Error) -> Void = {
            $0.delegate?.peripheral($0, didUpdateNotificationStateFor: characteristic, error: $1)
        }
        perform("setNotifyValue", of: characteristic.service, failed: failed) { peer in
            peer.setNotify(enabled, handles, for: port) { peripheral, result in
                if case .success = result { characteristic.isNotifying = enabled }
                peripheral.delegate?.peripheral(peripheral, didUpdateNotificationStateFor: characteristic, error: result.failure)
            }
        }
    }

    /// Opens a channel to a published PSM.
    open func openL2CAPChannel(_ psm: CBL2CAPPSM) {
        let port = port
        perform("openL2CAPChannel") { peer in peer.openChannel(psm, for: port) }
    }

    // MARK: On the queue

    /// The phone has read the Device Name.
    func renamed(_ name: String) {
        guard name != self.name else { return }
        self.name = name
        delegate?.peripheralDidUpdateName(self)
    }

    /// A command has left this phone, or was lost with its link.
    func commandLeft() {
        let wasFull = commandsUnderWay >= Self.commandLimit
        commandsUnderWay = max(0, commandsUnderWay - 1)
        if wasFull, canSendWriteWithoutResponse { delegate?.peripheralIsReady(toSendWriteWithoutResponse: self) }
    }

    func disconnected() {
        state = .disconnected
        isWantedAgain = false
        commandsUnderWay = 0
        for service in services ?? [] { service.invalidate() }
        services = nil
    }

    /// A value was notified or indicated.
    func received(_ handle: UInt16, _ value: [UInt8]) {
        for characteristic in services?.lazy.flatMap({ $0.characteristics ?? [] }) ?? [] where characteristic.handle == handle {
            characteristic.value = Data(value)
            delegate?.peripheral(self, didUpdateValueFor: characteristic, error: nil)
        }
    }

    /// Services in a range of handles have changed: those found earlier become invalid.
    func modified(_ range: ClosedRange<UInt16>) {
        let invalid = services?.filter { $0.range.overlaps(range) } ?? []
        services?.removeAll { service in invalid.contains { $0 === service } }
        for service in invalid { service.invalidate() }
        delegate?.peripheral(self, didModifyServices: invalid)
    }
}

extension Result {
    /// The error of the API.
    var failure: (any Error)? { if case .failure(let error) = self { CoreBluetooth.Failure.error(error) } else { nil } }
}
