import BBPackets

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension BondDocument {
    /// The text of a bond file in the format that `read` parses.
    static func text(of keys: KeyStore) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Encoding texts and integers cannot fail.
        return ((try? encoder.encode(BondDocument(keys))).map { [UInt8]($0) } ?? []) + [0x0A]
    }

    private init(_ keys: KeyStore) {
        if keys.identityAddress != nil || keys.identityResolvingKey != nil {
            identity = Identity(address: keys.identityAddress.map(Self.text), irk: keys.identityResolvingKey.map(Self.key))
        }
        virtualTime = keys.isOfVirtualTime ? true : nil
        bonds = keys.kept.map(Self.peer)
    }

    private static func peer(_ entry: KeyStore.Entry) -> Peer {
        let bond = entry.bond
        return Peer(
            peer: text(bond.identity), address: bond.addressOnAir.map(text), authenticated: bond.isAuthenticated,
            secureConnections: bond.isSecureConnections, irk: bond.identityResolvingKey.map(key),
            resolvesAddresses: bond.resolvesAddresses, localLtk: bond.localLongTermKey.map(key), peerLtk: bond.peerLongTermKey.map(key),
            localCsrk: bond.localSigningKey.map(key), peerCsrk: bond.peerSigningKey.map(key),
            linkKey: bond.linkKey.map(key), client: entry.client.map(client), database: entry.database.flatMap(database))
    }

    private static func key(_ octets: [UInt8]) -> String { Hex.octets(octets.reversed()) }

    private static func key(_ key: LongTermKey) -> Key {
        Key(
            key: self.key(key.value), size: key.size, ediv: Hex.octets(key.encryptedDiversifier.bigEndianOctets),
            rand: Hex.octets(key.randomNumber.bigEndianOctets))
    }

    private static func key(_ key: LinkKey) -> LinkKeyText {
        LinkKeyText(key: self.key(key.value), type: key.type.rawValue, size: key.size)
    }

    private static func key(_ key: SigningKey) -> SignatureKey { SignatureKey(key: self.key(key.value), counter: UInt64(key.counter)) }

    private static func text(_ address: DeviceAddress) -> String {
        Hex.octets(address.octets.reversed(), separator: ":") + (address.kind == .public ? "/public" : "/random")
    }

    private static func client(_ record: ClientRecord) -> Client {
        Client(
            features: record.features.rawValue, databaseHash: record.knownHash.map(key),
            configurations: record.configurations.rows.map { Configuration(handle: $0.value, bits: $0.bits) })
    }

    private static func database(_ found: RemoteDatabase) -> Database? {
        found.hash.map { Database(hash: key($0), services: found.services.map(service)) }
    }

    private static func service(_ found: RemoteDatabase.Service) -> Service {
        Service(
            uuid: found.service.uuid.description, handle: found.service.handle, end: found.service.endHandle,
            characteristics: found.characteristics.map { entry in
                let characteristic = entry.characteristic
                return Characteristic(
                    uuid: characteristic.uuid.description, properties: characteristic.properties.rawValue,
                    declaration: characteristic.declaration, value: characteristic.value, end: characteristic.endHandle,
                    descriptors: entry.descriptors.map { Descriptor(uuid: $0.uuid.description, handle: $0.handle) })
            })
    }
}

extension FixedWidthInteger {
    fileprivate var bigEndianOctets: [UInt8] { withUnsafeBytes(of: bigEndian) { [UInt8]($0) } }
}
