import BBHost
import BBPackets

/// The GATT server of a host. It has the services Generic Access and Generic Attribute from the beginning, and clients can store its
/// database (Core Vol 3, Part G, 2.5.2.1).
extension BluetoothHost {
    /// Adds a service after the last handle. Connected clients get a Service Changed indication. Core Vol 3, Part G, 7.1.
    @discardableResult
    public func publish(_ service: LocalService) -> PublishedService {
        let definition = ServiceDefinition(service.uuid, characteristics: service.characteristics.map(self.definition))
        let added = inner.database.add(definition)
        return PublishedService(
            uuid: added.uuid, handle: added.handle,
            characteristics: added.characteristics.map { PublishedCharacteristic(uuid: $0.uuid, handle: $0.value) })
    }

    /// Removes a service; its handles are not used again.
    public func unpublish(_ service: PublishedService) {
        if let known = inner.database.services.first(where: { $0.handle == service.handle }) { inner.database.remove(known) }
    }

    /// The stored value of a characteristic; nil if it was removed.
    public func value(of characteristic: PublishedCharacteristic) -> [UInt8]? { inner.database[characteristic.handle] }

    /// Stores a value for later reads. It notifies nobody: see `notify`.
    public func setValue(_ value: [UInt8], of characteristic: PublishedCharacteristic) { inner.database[characteristic.handle] = value }

    /// Sends a value to the clients that have subscribed, as notification or, to those that have asked for it alone, as indication, which
    /// waits for the confirmation. Core Vol 3, Part G, 4.10 and 4.11. The stored value stays as it is.
    ///
    /// - Parameters:
    ///   - value: at most ATT_MTU - 3 octets.
    ///   - characteristic: one that can notify or indicate.
    ///   - client: the only connection to send to; nil for all.
    /// - Returns: the number of clients that it was sent to.
    @discardableResult
    public func notify(
        _ value: [UInt8], of characteristic: PublishedCharacteristic, to client: Connection? = nil
    ) async throws -> Int {
        var count = 0
        for link in client.map({ [$0.inner] }) ?? inner.connections {
            let configuration = ClientConfiguration(rawValue: link.configuration(of: characteristic.handle))
            guard !configuration.isEmpty else { continue }
            try await BluetoothError.translating {
                if configuration.contains(.notification) {
                    try await link.notify(characteristic.handle, value)
                } else {
                    try await link.indicate(characteristic.handle, value)
                }
            }
            count += 1
        }
        return count
    }

    private func definition(of local: LocalCharacteristic) -> CharacteristicDefinition {
        let properties = BBHost.CharacteristicProperties(rawValue: local.properties.rawValue)
        var definition = CharacteristicDefinition(local.uuid, properties: properties, value: local.value)
        definition.permissions.formUnion(local.requiredSecurity)
        if let text = local.userDescription {
            definition.descriptors.append(DescriptorDefinition(.userDescription, value: [UInt8](text.utf8)))
        }
        if let onRead = local.onRead {
            definition.onRead = { [weak self] access in
                guard let self, let link = access.connection else { return .error(.unlikelyError) }
                do { return .value(try onRead(connection(of: link))) } catch { return .error(Self.code(of: error)) }
            }
        }
        if let onWrite = local.onWrite {
            definition.onWrite = { [weak self] access, value in
                guard let self, let link = access.connection else { return .unlikelyError }
                do { try onWrite(connection(of: link), value.octets) } catch { return Self.code(of: error) }
                return nil
            }
        }
        if let onSubscribe = local.onSubscribe {
            definition.onSubscribe = { [weak self] access, bits in
                if let self, let link = access.connection { onSubscribe(connection(of: link), bits != 0) }
            }
        }
        return definition
    }

    private static func code(of error: any Error) -> ATTErrorCode { (error as? ATTRefusal)?.code ?? .unlikelyError }
}

/// Bits of a Client Characteristic Configuration. Core Vol 3, Part G, 3.3.3.3.
private struct ClientConfiguration: OptionSet {
    let rawValue: UInt16
    static let notification = ClientConfiguration(rawValue: 1 << 0)
    static let indication = ClientConfiguration(rawValue: 1 << 1)
}

extension LocalCharacteristic {
    fileprivate var requiredSecurity: AttributePermissions {
        var permissions: AttributePermissions = []
        switch readSecurity {
        case .none: break
        case .encrypted: permissions.insert(.readEncrypted)
        case .authenticated: permissions.insert(.readAuthenticated)
        case .secureConnections: permissions.insert(.readSecureConnections)
        }
        switch writeSecurity {
        case .none: break
        case .encrypted: permissions.insert(.writeEncrypted)
        case .authenticated: permissions.insert(.writeAuthenticated)
        case .secureConnections: permissions.insert(.writeSecureConnections)
        }
        return permissions
    }
}
