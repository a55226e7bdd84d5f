import BBHost
public import BBPackets

/// Characteristic Properties. Core Vol 3, Part G, 3.3.1.1.
public struct CharacteristicProperties: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let broadcast = CharacteristicProperties(rawValue: 0x01)
    public static let read = CharacteristicProperties(rawValue: 0x02)
    public static let writeWithoutResponse = CharacteristicProperties(rawValue: 0x04)
    public static let write = CharacteristicProperties(rawValue: 0x08)
    public static let notify = CharacteristicProperties(rawValue: 0x10)
    public static let indicate = CharacteristicProperties(rawValue: 0x20)
    public static let signedWrite = CharacteristicProperties(rawValue: 0x40)
    public static let extended = CharacteristicProperties(rawValue: 0x80)
}

/// A descriptor of the peer. Core Vol 3, Part G, 3.3.3.
public struct RemoteDescriptor: Sendable, Hashable {
    public let uuid: BluetoothUUID
    public let handle: UInt16
}

/// A characteristic of the peer. Core Vol 3, Part G, 3.3.
public struct RemoteCharacteristic: Sendable, Hashable {
    public let uuid: BluetoothUUID
    public let properties: CharacteristicProperties
    /// Handle of the value.
    public let handle: UInt16
    public let descriptors: [RemoteDescriptor]
    let inner: BBHost.RemoteCharacteristic

    init(_ found: BBHost.RemoteDatabase.Characteristic) {
        inner = found.characteristic
        (uuid, handle) = (inner.uuid, inner.value)
        properties = CharacteristicProperties(rawValue: inner.properties.rawValue)
        descriptors = found.descriptors.map { RemoteDescriptor(uuid: $0.uuid, handle: $0.handle) }
    }
}

/// A service of the peer. Core Vol 3, Part G, 3.1.
public struct RemoteService: Sendable, Hashable {
    public let uuid: BluetoothUUID
    /// Handles of the service and its characteristics.
    public let handles: ClosedRange<UInt16>
    public let characteristics: [RemoteCharacteristic]

    init(_ found: BBHost.RemoteDatabase.Service) {
        uuid = found.service.uuid
        handles = found.service.handle...max(found.service.handle, found.service.endHandle)
        characteristics = found.characteristics.map { RemoteCharacteristic($0) }
    }

    /// The first characteristic with a UUID.
    ///
    /// - Throws: `BluetoothError` with the reason `notFound`.
    public func characteristic(_ uuid: BluetoothUUID) throws -> RemoteCharacteristic {
        guard let found = characteristics.first(where: { $0.uuid == uuid }) else {
            throw BluetoothError(.peer, .notFound, "service \(self.uuid) has no characteristic \(uuid)")
        }
        return found
    }
}

/// The attributes of the peer's GATT server. Core Vol 3, Part G, 2.6.
public struct RemoteDatabase: Sendable, Hashable {
    /// Primary services by handle.
    public let services: [RemoteService]

    /// The first service with a UUID.
    ///
    /// - Throws: `BluetoothError` with the reason `notFound`.
    public func service(_ uuid: BluetoothUUID) throws -> RemoteService {
        guard let found = services.first(where: { $0.uuid == uuid }) else {
            throw BluetoothError(.peer, .notFound, "the peer has no service \(uuid)")
        }
        return found
    }

    /// The first characteristic with a UUID, in any service.
    ///
    /// - Throws: `BluetoothError` with the reason `notFound`.
    public func characteristic(_ uuid: BluetoothUUID) throws -> RemoteCharacteristic {
        guard let found = services.lazy.flatMap(\.characteristics).first(where: { $0.uuid == uuid }) else {
            throw BluetoothError(.peer, .notFound, "the peer has no characteristic \(uuid)")
        }
        return found
    }
}
