import Foundation
import Host

public enum CBPeripheralState: Int, Sendable, Hashable {
    case disconnected = 0
    case connecting = 1
    case connected = 2
    case disconnecting = 3
}

/// A remote device, as one manager sees it. Releasing it ends its connection.
open class CBPeripheral: CBPeer {
    open weak var delegate: (any CBPeripheralDelegate)?
    open internal(set) var name: String?
    open internal(set) var state = CBPeripheralState.disconnected
    /// True if the user lets the device read notifications. Notifications (ANCS) are not simulated yet: always false.
    open var ancsAuthorized: Bool { false }
    /// The services found so far; nil before discovery.
    open internal(set) var services: [CBService]?
    weak var manager: CBCentralManager?
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
        let (phone, port, identifier) = (phone, port, identifier)
        phone.enter { phone.connecting.cancel(identifier, for: port) }
    }

    /// Runs an operation on the connection; reports a misuse if there is none.
    func perform(_ name: StaticString, _ operation: @escaping (PhonePeer) -> Void) {
        guard state == .connected else { return phone.misuse("CBPeripheral: \(name) needs the connected state") }
        let (phone, identifier) = (phone, identifier)
        phone.enter { phone.connecting.peer(identifier).map(operation) }
    }

    // MARK: Values

    /// True if a command is accepted now; otherwise `peripheralIsReady(toSendWriteWithoutResponse:)` follows.
    open var canSendWriteWithoutResponse: Bool { state == .connected && commandsUnderWay < Self.commandLimit }

    /// Longest value of one write: 512 octets with response, ATT_MTU - 3 without; 0 if not connected.
    open func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
        guard state == .connected else { return 0 }
        return type == .withResponse ? 512 : mtu - 3
    }

    open func readRSSI() {
        let port = port
        perform("readRSSI") { peer in
            peer.run(for: port) { link in
                try await link.readRSSI()
            } done: { peripheral, result in
                let rssi = (try? result.get()).map(Int.init) ?? 127
                peripheral.delegate?.peripheral(peripheral, didReadRSSI: NSNumber(value: rssi), error: result.failure)
            }
        }
    }

    open func readValue(for characteristic: CBCharacteristic) {
        let (port, handle) = (port, characteristic.handle)
        perform("readValue") { peer in
            peer.run(for: port) { link in
                try await link.gatt.readLong(handle)
            } done: { peripheral, result in
                if let value = try? result.get() { characteristic.value = Data(value) }
                peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: result.failure)
            }
        }
    }

    open func readValue(for descriptor: CBDescriptor) {
        let (port, handle) = (port, descriptor.handle)
        perform("readValue") { peer in
            peer.run(for: port) { link in
                try await link.gatt.readLong(handle)
            } done: { peripheral, result in
                if let value = try? result.get() { descriptor.value = descriptor.interpret(value) }
                peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: descriptor, error: result.failure)
            }
        }
    }

    /// A value longer than ATT_MTU - 3 becomes a queued write with response, and is cut without.
    open func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
        let (port, handle, octets) = (port, characteristic.handle, [UInt8](data))
        guard type == .withResponse else { return command(handle, octets) }
        perform("writeValue") { peer in
            peer.run(for: port) { link in
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

    private func command(_ handle: UInt16, _ octets: [UInt8]) {
        let (port, cut) = (port, [UInt8](octets.prefix(max(0, mtu - 3))))
        if state == .connected { commandsUnderWay += 1 }
        perform("writeValue") { $0.command(handle, cut, for: port) }
    }

    /// The Client Characteristic Configuration cannot be written; use `setNotifyValue(_:for:)`.
    open func writeValue(_ data: Data, for descriptor: CBDescriptor) {
        precondition(
            descriptor.uuid.uuidString != CBUUIDClientCharacteristicConfigurationString,
            "CBPeripheral: use setNotifyValue(_:for:) for the Client Characteristic Configuration")
        let (port, handle, octets) = (port, descriptor.handle, [UInt8](data))
        perform("writeValue") { peer in
            peer.run(for: port) { link in
                try await link.gatt.write(handle, octets)
            } done: { peripheral, result in
                peripheral.delegate?.peripheral(peripheral, didWriteValueFor: descriptor, error: result.failure)
            }
        }
    }

    /// Enables notifications, or indications of a characteristic that cannot notify.
    open func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
        let port = port
        let handles = characteristic.handles
        perform("setNotifyValue") { peer in
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

    /// A command has left this phone, or was lost with its link.
    func commandLeft() {
        let wasFull = commandsUnderWay >= Self.commandLimit
        commandsUnderWay = max(0, commandsUnderWay - 1)
        if wasFull, state == .connected { delegate?.peripheralIsReady(toSendWriteWithoutResponse: self) }
    }

    func disconnected() {
        state = .disconnected
        commandsUnderWay = 0
        for characteristic in services?.flatMap({ $0.characteristics ?? [] }) ?? [] { characteristic.isNotifying = false }
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
        delegate?.peripheral(self, didModifyServices: invalid)
    }
}

extension Result {
    /// The error of the API.
    var failure: (any Error)? { if case .failure(let error) = self { CoreBluetooth.Failure.error(error) } else { nil } }
}
