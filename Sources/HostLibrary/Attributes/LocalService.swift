public import BBPackets

/// A characteristic to publish. Core Vol 3, Part G, 3.3. It gets a Client Characteristic Configuration if it can notify or indicate.
///
/// Handlers are called on the bench's thread with the client's connection. A handler that throws an `ATTRefusal` refuses the request with
/// its code; any other error becomes Unlikely Error.
public struct LocalCharacteristic {
    public var uuid: BluetoothUUID
    public var properties: CharacteristicProperties
    /// The value for clients, at most 512 octets; what a client writes is stored here, unless there is a handler.
    public var value: [UInt8] = []
    /// Security that the link of a client needs. Core Vol 3, Part C, 10.3.1.
    public var readSecurity = SecurityLevel.none
    public var writeSecurity = SecurityLevel.none
    /// Text of a Characteristic User Description. Core Vol 3, Part G, 3.3.3.2.
    public var userDescription: String?
    /// Returns the value for a read, in place of `value`.
    public var onRead: ((Connection) throws -> [UInt8])?
    /// Receives a written value, instead of storing it.
    public var onWrite: ((Connection, [UInt8]) throws -> Void)?
    /// Reports a client's new configuration: true if it wants notifications or indications.
    public var onSubscribe: ((Connection, Bool) -> Void)?

    public init(_ uuid: BluetoothUUID, _ properties: CharacteristicProperties, value: [UInt8] = []) {
        (self.uuid, self.properties, self.value) = (uuid, properties, value)
    }
}

/// A primary service to publish. Core Vol 3, Part G, 3.1.
public struct LocalService {
    public var uuid: BluetoothUUID
    public var characteristics: [LocalCharacteristic]

    public init(_ uuid: BluetoothUUID, _ characteristics: [LocalCharacteristic] = []) {
        (self.uuid, self.characteristics) = (uuid, characteristics)
    }
}

/// A characteristic in the database of a host.
public struct PublishedCharacteristic: Sendable, Hashable {
    public let uuid: BluetoothUUID
    /// Handle of the value.
    public let handle: UInt16
}

/// A service in the database of a host.
public struct PublishedService: Sendable, Hashable {
    public let uuid: BluetoothUUID
    /// Handle of the declaration.
    public let handle: UInt16
    public let characteristics: [PublishedCharacteristic]

    /// The first characteristic with a UUID.
    public subscript(uuid: BluetoothUUID) -> PublishedCharacteristic? { characteristics.first { $0.uuid == uuid } }
}
