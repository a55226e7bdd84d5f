import BBBluetoothCrypto
import BBPackets
import BBTiming

/// The attributes of a server. Core Vol 3, Part G, 2.5 and 3.
public final class GATTDatabase {
    struct Attribute {
        enum Role {
            case value
            /// Client Characteristic Configuration: one value per link, for the characteristic value that it configures.
            case configuration(of: UInt16, properties: CharacteristicProperties)
            case databaseHash
            /// One value per client.
            case clientFeatures
        }

        var type: BluetoothUUID
        var permissions: AttributePermissions
        var keySize = LongTermKeySize.minimum
        var value: [UInt8]
        var maximumLength = AttributeValueLength.longest
        var role = Role.value
        var takesParts = false
        /// Last handle of a service declaration's group.
        var groupEnd: UInt16?
        var onRead: AttributeReadHandler?
        var onWrite: AttributeWriteHandler?
        var onSubscribe: SubscriptionHandler?
    }

    /// Attributes by handle - 1; nil for attributes of removed services.
    private(set) var attributes: [Attribute?] = []
    private var hash: [UInt8]?
    public private(set) var services: [PublishedService] = []
    /// Authorizes access to attributes that require authorization; by default all access is denied.
    public var authorizes: (AttributeAccess) -> AttributeAuthorization = { _ in .refused }
    /// Decides about the values of a write request or command, or of all prepared writes together, before the first one is stored; by
    /// default they are stored. For a command, `.refuse` and `.later` discard the value.
    public var decides: ((AttributeAccess, [AttributeWrite]) -> AttributeWriteDecision)?
    /// Server behaviour that the specification leaves open.
    public var choices = ServerChoices()
    /// Called with the handle range of an added or removed service.
    let changes = Listeners<(ClosedRange<UInt16>) -> Void>()

    /// An empty database.
    public init() {}

    /// A database with the Generic Access and Generic Attribute services. Core Vol 3, Part C, 12 and Part G, 7.
    ///
    /// - Parameters:
    ///   - isCacheable: support robust caching: clients can store the database and are notified of changes. Part G, 2.5.2.1.
    ///   - hasEnhancedBearers: support Enhanced ATT bearers; a host with this database accepts them. Part G, 5.3 and 7.4.
    ///   - advertisingKeys: key material of encrypted advertising data; nil for no such characteristic. Part C, 12.6.
    public convenience init(
        deviceName: String, appearance: UInt16 = 0, isCacheable: Bool = true, hasEnhancedBearers: Bool = false,
        advertisingKeys: AdvertisingKeyMaterial? = nil
    ) {
        self.init()
        let access = [
            CharacteristicDefinition(.deviceName, properties: .read, value: [UInt8](deviceName.utf8)),
            CharacteristicDefinition(
                .appearance, properties: .read, value: [UInt8(truncatingIfNeeded: appearance), UInt8(appearance >> 8)]),
        ]
        let keys = advertisingKeys.map { [CharacteristicDefinition.encryptedDataKeyMaterial($0)] } ?? []
        add(ServiceDefinition(.genericAccess, characteristics: access + keys))
        var characteristics = [
            CharacteristicDefinition(.serviceChanged, properties: .indicate), CharacteristicDefinition(.databaseHash, properties: .read),
        ]
        if isCacheable { characteristics.append(CharacteristicDefinition(.clientSupportedFeatures, properties: [.read, .write])) }
        if hasEnhancedBearers {
            characteristics.append(
                CharacteristicDefinition(
                    .serverSupportedFeatures, properties: .read, value: [ServerFeatures.enhancedBearer.rawValue]))
        }
        let generic = add(ServiceDefinition(.genericAttribute, characteristics: characteristics))
        if let handle = generic[.databaseHash]?.value { attributes[Int(handle) - 1]?.role = .databaseHash }
        if let handle = generic[.clientSupportedFeatures]?.value { attributes[Int(handle) - 1]?.role = .clientFeatures }
    }

    /// True if Server Supported Features has the bit of Enhanced ATT bearers. Core Vol 3, Part G, 7.4.
    var offersEnhancedBearers: Bool {
        let octets = valueHandle(of: .serverSupportedFeatures).flatMap { self[$0] } ?? []
        return ServerFeatures(rawValue: octets.first ?? 0).contains(.enhancedBearer)
    }

    /// The value of Device Name; empty without one. Core Vol 3, Part C, 12.1.
    public var deviceName: String { String(decoding: valueHandle(of: .deviceName).flatMap { self[$0] } ?? [], as: UTF8.self) }

    /// Value handle of the first characteristic with a UUID.
    func valueHandle(of uuid: BluetoothUUID) -> UInt16? {
        services.lazy.flatMap(\.characteristics).first { $0.uuid == uuid }?.value
    }

    /// Adds a service after the last handle.
    @discardableResult
    public func add(_ service: ServiceDefinition) -> PublishedService {
        hash = nil
        let declaration = append(
            Attribute(type: service.isPrimary ? .primaryService : .secondaryService, permissions: .read, value: service.uuid.declared))
        for included in service.includes {
            var writer = ByteWriter()
            writer.u16(included.handle)
            writer.u16(included.endHandle)
            if included.uuid.octetCount == 2 { writer.uuid(included.uuid) }
            _ = append(Attribute(type: .include, permissions: .read, value: writer.bytes))
        }
        let characteristics = service.characteristics.map(add)
        let end = UInt16(attributes.count)
        attributes[Int(declaration) - 1]?.groupEnd = end
        let published = PublishedService(uuid: service.uuid, handle: declaration, endHandle: end, characteristics: characteristics)
        services.append(published)
        changes.tell { $0(declaration...end) }
        return published
    }

    /// Removes a service; its handles are not reused.
    public func remove(_ service: PublishedService) {
        hash = nil
        services.removeAll { $0.handle == service.handle }
        for handle in service.handle...max(service.handle, service.endHandle) where handle > 0 && Int(handle) <= attributes.count {
            attributes[Int(handle) - 1] = nil
        }
        changes.tell { $0(service.handle...max(service.handle, service.endHandle)) }
    }

    /// Reports a range of handles as changed to the clients, as a device does whose firmware was updated, though its attributes stay.
    package func reportChange(_ range: ClosedRange<UInt16>) { changes.tell { $0(range) } }

    /// The stored value of an attribute. Setting it sends no notification.
    public subscript(handle: UInt16) -> [UInt8]? {
        get { self[attribute: handle]?.value }
        set {
            guard self[attribute: handle] != nil, let newValue else { return }
            attributes[Int(handle) - 1]?.value = newValue
        }
    }

    /// Database Hash, least significant octet first. Core Vol 3, Part G, 7.3.
    public var databaseHash: [UInt8] {
        if let hash { return hash }
        var writer = ByteWriter()
        for (index, attribute) in attributes.enumerated() {
            guard let attribute, let type = attribute.type.short else { continue }
            switch type {
            case 0x2800...0x2803, 0x2900:
                writer.u16(UInt16(index + 1))
                writer.u16(type)
                writer.bytes(attribute.value)
            case 0x2901...0x2905:
                writer.u16(UInt16(index + 1))
                writer.u16(type)
            default: break
            }
        }
        let computed = AttributeHashes.databaseHash(writer.bytes).littleEndianOctets
        hash = computed
        return computed
    }

    /// The configurations that refer to characteristics with a matching property.
    func valid(_ configurations: ClientConfigurations) -> ClientConfigurations {
        let published = services.lazy.flatMap(\.characteristics)
        var valid = ClientConfigurations()
        for row in configurations.rows {
            guard let handle = published.first(where: { $0.value == row.value })?.configuration,
                case .configuration(_, let properties)? = self[attribute: handle]?.role
            else { continue }
            valid[row.value] = row.bits & properties.configurable
        }
        return valid
    }

    subscript(attribute handle: UInt16) -> Attribute? {
        handle > 0 && Int(handle) <= attributes.count ? attributes[Int(handle) - 1] : nil
    }

    private func append(_ attribute: Attribute) -> UInt16 {
        attributes.append(attribute)
        return UInt16(attributes.count)
    }

    private func add(_ definition: CharacteristicDefinition) -> PublishedCharacteristic {
        var writer = ByteWriter()
        writer.u8(definition.properties.rawValue)
        writer.u16(UInt16(attributes.count + 2))
        writer.bytes(definition.uuid.declared)
        let declaration = append(Attribute(type: .characteristic, permissions: .read, value: writer.bytes))
        let value = append(
            Attribute(
                type: definition.uuid, permissions: definition.permissions, keySize: definition.minimumKeySize, value: definition.value,
                maximumLength: min(AttributeValueLength.longest, definition.maximumLength), takesParts: definition.takesParts,
                onRead: definition.onRead, onWrite: definition.onWrite))
        var configuration: UInt16?
        if !definition.properties.isDisjoint(with: [.notify, .indicate]) {
            configuration = append(
                Attribute(
                    type: .clientConfiguration, permissions: definition.configurationPermissions, value: [0, 0],
                    role: .configuration(of: value, properties: definition.properties), onSubscribe: definition.onSubscribe))
        }
        let descriptors = definition.descriptors.map {
            append(
                Attribute(
                    type: $0.uuid, permissions: $0.permissions, keySize: $0.minimumKeySize, value: $0.value,
                    maximumLength: min(AttributeValueLength.longest, $0.maximumLength), onRead: $0.onRead, onWrite: $0.onWrite))
        }
        return PublishedCharacteristic(
            uuid: definition.uuid, declaration: declaration, value: value, configuration: configuration, descriptors: descriptors)
    }
}

extension BluetoothUUID {
    /// UUID octets in an attribute: 2 or 16, never 4. Core Vol 3, Part F, 3.2.1.
    var declared: [UInt8] { octetCount == 4 ? long.octets : octets }
}
