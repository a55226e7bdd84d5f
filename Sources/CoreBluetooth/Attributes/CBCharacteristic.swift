import Foundation

/// Properties of a characteristic. The lowest octet is that of the characteristic declaration. Core Vol 3, Part G, 3.3.1.1.
public struct CBCharacteristicProperties: OptionSet, Sendable, Hashable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let broadcast = CBCharacteristicProperties(rawValue: 0x01)
    public static let read = CBCharacteristicProperties(rawValue: 0x02)
    public static let writeWithoutResponse = CBCharacteristicProperties(rawValue: 0x04)
    public static let write = CBCharacteristicProperties(rawValue: 0x08)
    public static let notify = CBCharacteristicProperties(rawValue: 0x10)
    public static let indicate = CBCharacteristicProperties(rawValue: 0x20)
    public static let authenticatedSignedWrites = CBCharacteristicProperties(rawValue: 0x40)
    public static let extendedProperties = CBCharacteristicProperties(rawValue: 0x80)
    /// Only on encrypted links can a client enable notifications.
    public static let notifyEncryptionRequired = CBCharacteristicProperties(rawValue: 0x100)
    public static let indicateEncryptionRequired = CBCharacteristicProperties(rawValue: 0x200)
}

/// Permissions of a local characteristic value.
public struct CBAttributePermissions: OptionSet, Sendable, Hashable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let readable = CBAttributePermissions(rawValue: 0x01)
    public static let writeable = CBAttributePermissions(rawValue: 0x02)
    public static let readEncryptionRequired = CBAttributePermissions(rawValue: 0x04)
    public static let writeEncryptionRequired = CBAttributePermissions(rawValue: 0x08)
}

public enum CBCharacteristicWriteType: Int, Sendable, Hashable {
    case withResponse = 0
    case withoutResponse = 1
}

/// A characteristic of a local or remote service.
open class CBCharacteristic: CBAttribute {
    open internal(set) weak var service: CBService?
    open internal(set) var properties: CBCharacteristicProperties
    /// The last value that was read, notified or indicated; for a local characteristic its static value.
    open internal(set) var value: Data?
    /// Nil before discovery.
    open internal(set) var descriptors: [CBDescriptor]?
    open internal(set) var isNotifying = false
    /// No system broadcasts values of another device: always false.
    @available(*, deprecated)
    open var isBroadcasted: Bool { false }
    /// Handle of the value at the server.
    var handle: UInt16
    /// Last handle that may be a descriptor.
    let endHandle: UInt16

    init(uuid: CBUUID, properties: CBCharacteristicProperties, value: Data? = nil, handle: UInt16 = 0, endHandle: UInt16 = 0) {
        self.properties = properties
        self.value = value
        self.handle = handle
        self.endHandle = endHandle
        super.init(uuid: uuid)
    }
}

/// A characteristic for `CBMutableService`.
open class CBMutableCharacteristic: CBCharacteristic {
    open var permissions: CBAttributePermissions
    /// The centrals that have enabled notifications or indications; nil if there are none.
    open internal(set) var subscribedCentrals: [CBCentral]?

    /// - Parameter value: a value that never changes; nil if the delegate is asked for each read and write.
    public init(type: CBUUID, properties: CBCharacteristicProperties, value: Data?, permissions: CBAttributePermissions) {
        self.permissions = permissions
        super.init(uuid: type, properties: properties, value: value)
    }

    open override var properties: CBCharacteristicProperties {
        get { super.properties }
        set { super.properties = newValue }
    }
    open override var value: Data? {
        get { super.value }
        set { super.value = newValue }
    }
    open override var descriptors: [CBDescriptor]? {
        get { super.descriptors }
        set {
            super.descriptors = newValue
            for descriptor in newValue ?? [] { descriptor.characteristic = self }
        }
    }
}

/// A descriptor of a characteristic.
open class CBDescriptor: CBAttribute {
    open internal(set) weak var characteristic: CBCharacteristic?
    /// A String for 2901, an NSNumber for 2900, 2902 and 2903, otherwise Data; nil before it was read.
    open internal(set) var value: Any?
    /// Handle at the server.
    let handle: UInt16

    init(uuid: CBUUID, value: Any? = nil, handle: UInt16 = 0) {
        self.value = value
        self.handle = handle
        super.init(uuid: uuid)
    }

    /// The value of octets read from the server.
    func interpret(_ octets: [UInt8]) -> Any {
        switch uuid.uuidString {
        case CBUUIDCharacteristicUserDescriptionString: String(decoding: octets, as: UTF8.self)
        case CBUUIDCharacteristicExtendedPropertiesString, CBUUIDClientCharacteristicConfigurationString,
            CBUUIDServerCharacteristicConfigurationString:
            NSNumber(value: octets.prefix(2).reversed().reduce(0) { $0 << 8 | UInt16($1) })
        default: Data(octets)
        }
    }
}

/// A descriptor for `CBMutableCharacteristic`: a User Description (2901, String) or a Presentation Format (2904, Data). The others are
/// created by the system.
open class CBMutableDescriptor: CBDescriptor {
    public init(type: CBUUID, value: Any?) {
        precondition(
            [CBUUIDCharacteristicUserDescriptionString, CBUUIDCharacteristicFormatString].contains(type.uuidString),
            "CBMutableDescriptor: only 2901 and 2904 can be created")
        super.init(uuid: type, value: value)
    }

    var octets: [UInt8] {
        switch value {
        case let text as String: [UInt8](text.utf8)
        case let data as Data: [UInt8](data)
        default: []
        }
    }
}
