import BBPackets

/// Everything discovered on a server, valid as long as the server's hash is the same. Core Vol 3, Part G, 2.5.2 and 7.3.
public struct RemoteDatabase: Sendable, Hashable {
    public struct Characteristic: Sendable, Hashable {
        public var characteristic: RemoteCharacteristic
        public var descriptors: [RemoteDescriptor]
    }

    public struct Service: Sendable, Hashable {
        public var service: RemoteService
        public var characteristics: [Characteristic]
    }

    /// The Database Hash at the time of discovery; nil if the server has none.
    public var hash: [UInt8]?
    public var services: [Service]

    /// True if all handles are within their service and characteristic; otherwise the database is not stored. Core Vol 3, Part G, 3.3.
    var isInOrder: Bool {
        services.allSatisfy { entry in
            let service = entry.service
            return service.handle > 0 && service.handle <= service.endHandle
                && entry.characteristics.allSatisfy { entry in
                    let found = entry.characteristic
                    return service.handle < found.declaration && found.declaration < found.value && found.value <= found.endHandle
                        && found.endHandle <= service.endHandle
                        && entry.descriptors.allSatisfy { found.value < $0.handle && $0.handle <= found.endHandle }
                }
        }
    }

    /// The first characteristic with a UUID.
    public subscript(uuid: BluetoothUUID) -> RemoteCharacteristic? {
        services.lazy.flatMap(\.characteristics).first { $0.characteristic.uuid == uuid }?.characteristic
    }
}

extension GATTClient {
    /// The server's database: from the bond if the Database Hash has not changed, otherwise by discovery.
    public func discoverDatabase() async throws -> RemoteDatabase {
        let hash = try await readDatabaseHash()
        if let hash, let kept = bearer.client.link?.remoteDatabase, kept.hash == hash { return kept }
        var found = RemoteDatabase(hash: hash, services: [])
        for service in try await discoverServices() {
            var entry = RemoteDatabase.Service(service: service, characteristics: [])
            for characteristic in try await discoverCharacteristics(in: service) {
                let descriptors = try await discoverDescriptors(of: characteristic)
                entry.characteristics.append(.init(characteristic: characteristic, descriptors: descriptors))
            }
            found.services.append(entry)
        }
        if hash?.count == 16, found.isInOrder { bearer.client.link?.remoteDatabase = found }
        return found
    }

    /// The Database Hash; nil if the server has none. Core Vol 3, Part G, 7.3.
    private func readDatabaseHash() async throws -> [UInt8]? {
        do {
            return try await read(uuid: .databaseHash).first?.value
        } catch HostError.peer(.att(_, _, .attributeNotFound)) {
            return nil
        }
    }

    /// Enables robust caching and Service Changed indications on the server. Core Vol 3, Part G, 2.5.2.1 and 7.2.
    ///
    /// The stored database is removed when the server indicates Service Changed or responds with Database Out Of Sync.
    public func enableCaching(of database: RemoteDatabase) async throws {
        if let features = database[.clientSupportedFeatures] {
            let declared = try await read(features.value).first ?? 0
            try await write(features.value, [declared | ClientFeatures.robustCaching.rawValue])
        }
        guard let changed = database[.serviceChanged], changed.properties.contains(.indicate) else { return }
        try await subscribe(changed, .indication) { _, _, _ in }
    }
}

extension AttributeLink {
    /// Handles an indication; Service Changed invalidates the stored database.
    func indicated(_ characteristic: UInt16) {
        if remoteDatabase?[.serviceChanged]?.value == characteristic { forgetRemoteDatabase() }
    }

    func forgetRemoteDatabase() {
        if remoteDatabase != nil { remoteDatabase = nil }
    }
}
