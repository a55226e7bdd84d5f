import BBPackets

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension BondDocument {
    /// Maximum size of a bond file in octets.
    static let longest = 16 << 20
    /// Maximum number of bonds in a file.
    static let mostBonds = 4096

    /// Parses a bond file. Every value is checked; the first invalid one rejects the file.
    static func read(_ octets: [UInt8]) throws(BondFileError) -> KeyStore {
        guard octets.count <= longest else { throw .tooLong(octets: octets.count) }
        let head: Head = try decode(octets)
        guard head.format == format else { throw .noBonds("its format is '\(head.format.prefix(40))'") }
        guard head.version <= version else { throw .newer(version: head.version) }
        guard head.version >= 1 else { throw .damaged(place: "version", "\(head.version)") }
        let document: BondDocument = try decode(octets)
        guard document.bonds.count <= mostBonds else { throw .damaged(place: "bonds", "more than \(mostBonds)") }
        var content = KeyStore.Content()
        for (index, peer) in document.bonds.enumerated() {
            let entry = try entry(peer, Place("bonds[\(index)]"))
            guard content.entries.updateValue(entry, forKey: PeerIdentity(entry.bond.identity)) == nil else {
                throw .damaged(place: "bonds[\(index)].peer", "it is there twice")
            }
        }
        let place = Place("identity")
        content.identityAddress = try document.identity?.address.map { text throws(BondFileError) in try address(text, place / "address") }
        content.identityResolvingKey = try document.identity?.irk.flatMap { text throws(BondFileError) in
            try resolvingKey(text, place / "irk")
        }
        content.isOfVirtualTime = document.virtualTime ?? false
        return KeyStore(content)
    }

    /// Path of a value in the document, for messages.
    private struct Place {
        let text: String
        init(_ text: String) { self.text = text }
        static func / (place: Place, name: String) -> Place { Place("\(place.text).\(name)") }
        func damaged(_ what: String) -> BondFileError { .damaged(place: text, what) }
    }

    private static func decode<Value: Decodable>(_ octets: [UInt8]) throws(BondFileError) -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do { return try decoder.decode(Value.self, from: Data(octets)) } catch let error as DecodingError {
            throw self.error(error)
        } catch {
            throw .noBonds("it cannot be read")
        }
    }

    private static func error(_ error: DecodingError) -> BondFileError {
        switch error {
        case .keyNotFound(let key, let context): .damaged(place: text(context.codingPath + [key]), "it is missing")
        case .valueNotFound(_, let context): .damaged(place: text(context.codingPath), "it is null")
        case .typeMismatch(_, let context): .damaged(place: text(context.codingPath), "it has another type")
        case .dataCorrupted(let context) where context.codingPath.isEmpty: .noBonds("it is not JSON of its kind")
        case .dataCorrupted(let context): .damaged(place: text(context.codingPath), "it is out of range")
        @unknown default: .noBonds("it cannot be read")
        }
    }

    private static func text(_ path: [any CodingKey]) -> String {
        path.reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                // The key as written in the file.
                let name = key.stringValue.prefix(40).map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }
                text += (text.isEmpty ? "" : ".") + name.joined()
            }
        }
    }

    // MARK: Bonds

    private static func entry(_ peer: Peer, _ place: Place) throws(BondFileError) -> KeyStore.Entry {
        var bond = Bond(
            try address(peer.peer, place / "peer"), isAuthenticated: peer.authenticated, isSecureConnections: peer.secureConnections)
        bond.addressOnAir = try peer.address.map { text throws(BondFileError) in try address(text, place / "address") }
        bond.identityResolvingKey = try peer.irk.flatMap { text throws(BondFileError) in try resolvingKey(text, place / "irk") }
        bond.resolvesAddresses = peer.resolvesAddresses
        bond.localLongTermKey = try peer.localLtk.map { key throws(BondFileError) in try longTermKey(key, bond, place / "local_ltk") }
        bond.peerLongTermKey = try peer.peerLtk.map { key throws(BondFileError) in try longTermKey(key, bond, place / "peer_ltk") }
        bond.localSigningKey = try peer.localCsrk.map { key throws(BondFileError) in try signingKey(key, place / "local_csrk") }
        bond.peerSigningKey = try peer.peerCsrk.map { key throws(BondFileError) in try signingKey(key, place / "peer_csrk") }
        bond.linkKey = try peer.linkKey.map { key throws(BondFileError) in try linkKey(key, place / "link_key") }
        return KeyStore.Entry(
            bond: bond, client: try peer.client.map { client throws(BondFileError) in try self.client(client, place / "client") },
            database: try peer.database.map { database throws(BondFileError) in try self.database(database, place / "database") })
    }

    /// Reads a key of 16 octets. Returns its octets, least significant first.
    private static func key(_ text: String, _ place: Place) throws(BondFileError) -> [UInt8] {
        guard let octets = Hex.parse(text) else { throw place.damaged("it is not hexadecimal") }
        guard octets.count == 16 else { throw place.damaged("\(octets.count) octets, 16 are needed") }
        return octets.reversed()
    }

    /// An all-zero IRK means that there is none. Core Vol 4, Part E, 7.8.38.
    private static func resolvingKey(_ text: String, _ place: Place) throws(BondFileError) -> [UInt8]? {
        let key = try key(text, place)
        return key.allSatisfy { $0 == 0 } ? nil : key
    }

    /// Reads a long term key and checks its size and octets. Core Vol 3, Part H, 2.3.4 and 2.4.4.
    private static func longTermKey(_ stored: Key, _ bond: Bond, _ place: Place) throws(BondFileError) -> LongTermKey {
        let value = try key(stored.key, place / "key")
        guard (LongTermKeySize.minimum...LongTermKeySize.maximum).contains(stored.size) else {
            throw (place / "size").damaged("\(stored.size), 7 to 16 octets are possible")
        }
        guard value.contains(where: { $0 != 0 }) else { throw (place / "key").damaged("it is zero") }
        guard value[stored.size...].allSatisfy({ $0 == 0 }) else {
            throw (place / "key").damaged("it is longer than \(stored.size) octets")
        }
        guard let ediv = UInt16(stored.ediv, radix: 16) else { throw (place / "ediv").damaged("it is not a number of 16 bits") }
        guard let rand = UInt64(stored.rand, radix: 16) else { throw (place / "rand").damaged("it is not a number of 64 bits") }
        guard !bond.isSecureConnections || (ediv == 0 && rand == 0) else {
            throw place.damaged("EDIV and Rand of a key of LE Secure Connections are 0")
        }
        return LongTermKey(value, encryptedDiversifier: ediv, randomNumber: rand, size: stored.size)
    }

    /// A link key was created. Core Vol 4, Part E, 7.7.24.
    private static func linkKey(_ stored: LinkKeyText, _ place: Place) throws(BondFileError) -> LinkKey {
        let value = try key(stored.key, place / "key")
        guard stored.type <= LinkKeyType.authenticatedCombinationP256.rawValue else {
            throw (place / "type").damaged("\(stored.type), 0 to 8 are possible")
        }
        guard (LongTermKeySize.minimum...LongTermKeySize.maximum).contains(stored.size) else {
            throw (place / "size").damaged("\(stored.size), 7 to 16 octets are possible")
        }
        return LinkKey(value, LinkKeyType(rawValue: stored.type), size: stored.size)
    }

    private static func signingKey(_ stored: SignatureKey, _ place: Place) throws(BondFileError) -> SigningKey {
        guard let counter = UInt32(exactly: stored.counter) else { throw (place / "counter").damaged("it is not a number of 32 bits") }
        return SigningKey(try key(stored.key, place / "key"), counter: counter)
    }

    private static func address(_ text: String, _ place: Place) throws(BondFileError) -> DeviceAddress {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let octets = parts[0].split(separator: ":", omittingEmptySubsequences: false).compactMap {
            $0.count == 2 ? UInt8($0, radix: 16) : nil
        }
        guard parts.count == 2, octets.count == 6, ["public", "random"].contains(parts[1]) else {
            throw place.damaged("it is not an address such as C0:B1:BE:00:00:01/random")
        }
        return DeviceAddress(value: octets.reduce(0) { $0 << 8 | UInt64($1) }, kind: parts[1] == "public" ? .public : .random)
    }

    // MARK: Data stored with a bond

    private static func client(_ client: Client, _ place: Place) throws(BondFileError) -> ClientRecord {
        var record = ClientRecord(features: ClientFeatures(rawValue: client.features))
        record.knownHash = try client.databaseHash.map { text throws(BondFileError) in try key(text, place / "database_hash") }
        for row in client.configurations where row.bits & ~3 != 0 || row.handle == 0 {
            throw (place / "configurations").damaged("handle \(row.handle), bits \(row.bits)")
        }
        for row in client.configurations { record.configurations[row.handle] = row.bits }
        return record
    }

    private static func database(_ database: Database, _ place: Place) throws(BondFileError) -> RemoteDatabase {
        var found = RemoteDatabase(hash: try key(database.hash, place / "hash"), services: [])
        for (index, service) in database.services.enumerated() {
            let place = place / "services[\(index)]"
            guard service.handle > 0, service.handle <= service.end else {
                throw place.damaged("handles \(service.handle)...\(service.end)")
            }
            let known = RemoteService(uuid: try uuid(service.uuid, place), handle: service.handle, endHandle: service.end)
            var entry = RemoteDatabase.Service(service: known, characteristics: [])
            for characteristic in service.characteristics {
                entry.characteristics.append(try self.characteristic(characteristic, service, place))
            }
            found.services.append(entry)
        }
        return found
    }

    private static func characteristic(_ stored: Characteristic, _ service: Service, _ place: Place) throws(BondFileError)
        -> RemoteDatabase.Characteristic
    {
        guard service.handle < stored.declaration, stored.declaration < stored.value, stored.value <= stored.end, stored.end <= service.end
        else { throw place.damaged("characteristic with handles \(stored.declaration), \(stored.value)...\(stored.end)") }
        var descriptors: [RemoteDescriptor] = []
        for descriptor in stored.descriptors {
            guard descriptor.handle > stored.value, descriptor.handle <= stored.end else {
                throw place.damaged("descriptor with handle \(descriptor.handle)")
            }
            descriptors.append(RemoteDescriptor(uuid: try uuid(descriptor.uuid, place), handle: descriptor.handle))
        }
        return RemoteDatabase.Characteristic(
            characteristic: RemoteCharacteristic(
                uuid: try uuid(stored.uuid, place), properties: CharacteristicProperties(rawValue: stored.properties),
                declaration: stored.declaration, value: stored.value, endHandle: stored.end),
            descriptors: descriptors)
    }

    private static func uuid(_ text: String, _ place: Place) throws(BondFileError) -> BluetoothUUID {
        guard let uuid = BluetoothUUID(text) else { throw place.damaged("'\(text.prefix(40))' is not a UUID") }
        return uuid
    }
}
