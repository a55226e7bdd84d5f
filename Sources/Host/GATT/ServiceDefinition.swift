import BBPackets

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

    /// Allowed bits of a Client Characteristic Configuration. Core Vol 3, Part G, 3.3.3.3.
    var configurable: UInt16 { (contains(.notify) ? 1 : 0) | (contains(.indicate) ? 2 : 0) }
}

/// Access permissions of an attribute and the required link security. Core Vol 3, Part F, 3.2.5.
public struct AttributePermissions: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    public static let read = AttributePermissions(rawValue: 1 << 0)
    public static let write = AttributePermissions(rawValue: 1 << 1)
    public static let readEncrypted = AttributePermissions(rawValue: 1 << 2)
    public static let writeEncrypted = AttributePermissions(rawValue: 1 << 3)
    public static let readAuthenticated = AttributePermissions(rawValue: 1 << 4)
    public static let writeAuthenticated = AttributePermissions(rawValue: 1 << 5)
    /// `GATTDatabase.authorizes` decides.
    public static let readAuthorized = AttributePermissions(rawValue: 1 << 6)
    public static let writeAuthorized = AttributePermissions(rawValue: 1 << 7)
    /// Requires an authenticated key of LE Secure Connections.
    public static let readSecureConnections = AttributePermissions(rawValue: 1 << 8)
    public static let writeSecureConnections = AttributePermissions(rawValue: 1 << 9)
    /// Accepts only signed writes on an unencrypted link: LE security mode 2. Core Vol 3, Part C, 10.2.2.
    public static let writeSigned = AttributePermissions(rawValue: 1 << 10)
}

/// An access to an attribute.
public struct AttributeAccess {
    /// The client's connection; nil if the database is accessed without one.
    public var connection: Connection?
    /// The connection, if over BR/EDR.
    public var classicConnection: ClassicConnection?
    public var security: LinkSecurity
    /// Encryption key size of the link in octets.
    public var keySize: Int
    /// Handle of the attribute.
    public var handle: UInt16
    /// Offset of a Read Blob request; 0 for others.
    public internal(set) var offset = 0
    /// The request is processed again, after `GATTValues.answer()`.
    public internal(set) var isRepeated = false
    /// A command, which has no response.
    public internal(set) var isCommand = false
    private let isBonded: Bool

    /// - Parameter isBonded: the devices share a key; with a connection, the host's key store determines it.
    public init(
        connection: Connection? = nil, over classicConnection: ClassicConnection? = nil, security: LinkSecurity = .none, keySize: Int = 16,
        isBonded: Bool = false, handle: UInt16 = 0
    ) {
        self.connection = connection
        self.classicConnection = classicConnection
        self.security = security
        self.keySize = keySize
        self.isBonded = isBonded
        self.handle = handle
    }

    /// True if the link could be encrypted without another pairing.
    var hasKey: Bool { isBonded || connection?.bond != nil || classicConnection?.bond != nil }
}

/// The decision of an application about a client that accesses an attribute. Core Vol 3, Part C, 10.5.
public enum AttributeAuthorization: Sendable, Hashable {
    case granted
    case refused
    /// The application answers later: the response waits until `answer()` of the link's `GATTValues`, which asks for a decision again.
    case later
}

/// Result of a read handler.
public enum AttributeReadResult: Sendable {
    case value([UInt8])
    case error(ATTErrorCode)
    /// The application answers later: the response waits until `answer()` of the link's `GATTValues`, which asks the handler again.
    case later
}

/// A value that a client writes, or a part of one.
public struct AttributeWrite: Sendable, Hashable {
    public var handle: UInt16
    public var value: [UInt8]
    /// The place of a part of a queued write in the value; otherwise 0.
    public var offset = 0
}

/// The decision of an application about the values of one request.
public enum AttributeWriteDecision: Sendable, Hashable {
    /// Stores the values or gives them to their handlers.
    case proceed
    case refuse(handle: UInt16, ATTErrorCode)
    /// The application answers later: the response waits until `answer()` of the link's `GATTValues`, which asks for a decision again.
    case later
}

/// Returns the complete value; the server truncates it as requested.
public typealias AttributeReadHandler = (AttributeAccess) -> AttributeReadResult
/// Handles a written value; nil means success. The result is ignored for commands. The span is valid during the call only.
public typealias AttributeWriteHandler = (AttributeAccess, RawSpan) -> ATTErrorCode?
/// Called with a client's new Client Characteristic Configuration: bit 0 notifications, bit 1 indications.
public typealias SubscriptionHandler = (AttributeAccess, UInt16) -> Void

/// A descriptor to publish.
public struct DescriptorDefinition {
    public var uuid: BluetoothUUID
    public var permissions: AttributePermissions
    /// Required encryption key size in octets, 7...16.
    public var minimumKeySize = 7
    public var value: [UInt8]
    /// In octets, at most 512. Core Vol 3, Part F, 3.2.9.
    public var maximumLength: Int
    public var onRead: AttributeReadHandler?
    public var onWrite: AttributeWriteHandler?

    public init(
        _ uuid: BluetoothUUID, permissions: AttributePermissions = .read, value: [UInt8] = [],
        maximumLength: Int = AttributeValueLength.longest,
        onRead: AttributeReadHandler? = nil, onWrite: AttributeWriteHandler? = nil
    ) {
        self.uuid = uuid
        self.permissions = permissions
        self.value = value
        self.maximumLength = maximumLength
        self.onRead = onRead
        self.onWrite = onWrite
    }
}

/// A characteristic to publish. A Client Characteristic Configuration is added if it can notify or indicate.
public struct CharacteristicDefinition {
    public var uuid: BluetoothUUID
    public var properties: CharacteristicProperties
    public var permissions: AttributePermissions
    /// Permissions of the Client Characteristic Configuration. Core Vol 3, Part G, 3.3.3.3.
    public var configurationPermissions: AttributePermissions = [.read, .write]
    /// Encryption key size in octets required for the value, 7...16.
    public var minimumKeySize = 7
    public var value: [UInt8]
    /// In octets, at most 512. Core Vol 3, Part F, 3.2.9.
    public var maximumLength: Int
    public var descriptors: [DescriptorDefinition]
    /// `GATTDatabase.decides` gets the parts of a queued write one by one, with their offsets, and keeps the value itself.
    public var takesParts = false
    public var onRead: AttributeReadHandler?
    public var onWrite: AttributeWriteHandler?
    public var onSubscribe: SubscriptionHandler?

    /// - Parameter permissions: nil for those implied by the properties, on any link.
    public init(
        _ uuid: BluetoothUUID, properties: CharacteristicProperties, permissions: AttributePermissions? = nil, value: [UInt8] = [],
        maximumLength: Int = AttributeValueLength.longest, descriptors: [DescriptorDefinition] = [], onRead: AttributeReadHandler? = nil,
        onWrite: AttributeWriteHandler? = nil, onSubscribe: SubscriptionHandler? = nil
    ) {
        self.uuid = uuid
        self.properties = properties
        var implied: AttributePermissions = []
        if properties.contains(.read) { implied.insert(.read) }
        if !properties.isDisjoint(with: [.write, .writeWithoutResponse, .signedWrite]) { implied.insert(.write) }
        self.permissions = permissions ?? implied
        self.value = value
        self.maximumLength = maximumLength
        self.descriptors = descriptors
        self.onRead = onRead
        self.onWrite = onWrite
        self.onSubscribe = onSubscribe
    }
}

/// A service to publish.
public struct ServiceDefinition {
    public var uuid: BluetoothUUID
    public var isPrimary: Bool
    /// Included services, which must have been published before.
    public var includes: [PublishedService]
    public var characteristics: [CharacteristicDefinition]

    public init(
        _ uuid: BluetoothUUID, isPrimary: Bool = true, includes: [PublishedService] = [], characteristics: [CharacteristicDefinition] = []
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.includes = includes
        self.characteristics = characteristics
    }
}

/// Handles of a published service.
public struct PublishedService: Sendable, Hashable {
    public var uuid: BluetoothUUID
    /// Handle of the declaration.
    public var handle: UInt16
    public var endHandle: UInt16
    public var characteristics: [PublishedCharacteristic]

    public subscript(uuid: BluetoothUUID) -> PublishedCharacteristic? { characteristics.first { $0.uuid == uuid } }
}

/// Handles of a published characteristic.
public struct PublishedCharacteristic: Sendable, Hashable {
    public var uuid: BluetoothUUID
    public var declaration: UInt16
    public var value: UInt16
    /// Client Characteristic Configuration, if there is one.
    public var configuration: UInt16?
    public var descriptors: [UInt16]
}

extension BluetoothUUID {
    public static let primaryService: BluetoothUUID = 0x2800
    public static let secondaryService: BluetoothUUID = 0x2801
    public static let include: BluetoothUUID = 0x2802
    public static let characteristic: BluetoothUUID = 0x2803
    public static let extendedProperties: BluetoothUUID = 0x2900
    public static let userDescription: BluetoothUUID = 0x2901
    public static let clientConfiguration: BluetoothUUID = 0x2902
    public static let genericAccess: BluetoothUUID = 0x1800
    public static let genericAttribute: BluetoothUUID = 0x1801
    public static let deviceName: BluetoothUUID = 0x2A00
    public static let appearance: BluetoothUUID = 0x2A01
    public static let serviceChanged: BluetoothUUID = 0x2A05
    public static let centralAddressResolution: BluetoothUUID = 0x2AA6
    public static let clientSupportedFeatures: BluetoothUUID = 0x2B29
    public static let databaseHash: BluetoothUUID = 0x2B2A
    public static let encryptedDataKeyMaterial: BluetoothUUID = 0x2B88
    public static let serverSupportedFeatures: BluetoothUUID = 0x2B3A
}
