import BBPackets

/// Content of a bond file. Keys and numbers are hexadecimal, most significant octet first; docs/guide/bonds.md describes the format.
struct BondDocument: Codable {
    static let format = "bluebench bonds"
    static let version = 2

    struct Identity: Codable {
        var address: String?
        var irk: String?
    }

    struct Key: Codable {
        var key: String
        var size: Int
        var ediv: String
        var rand: String
    }

    struct LinkKeyText: Codable {
        var key: String
        var type = LinkKeyType.combination.rawValue
        var size = LongTermKeySize.maximum

        init(key: String, type: UInt8, size: Int) { (self.key, self.type, self.size) = (key, type, size) }

        /// Version 1 stored only the key, which then counts as a key from a PIN.
        init(from decoder: any Decoder) throws {
            if let key = try? decoder.singleValueContainer().decode(String.self) {
                self.key = key
                return
            }
            let values = try decoder.container(keyedBy: CodingKeys.self)
            key = try values.decode(String.self, forKey: .key)
            type = try values.decode(UInt8.self, forKey: .type)
            size = try values.decode(Int.self, forKey: .size)
        }
    }

    struct SignatureKey: Codable {
        var key: String
        var counter: UInt64
    }

    struct Configuration: Codable {
        var handle: UInt16
        var bits: UInt16
    }

    struct Client: Codable {
        var features: UInt8
        var databaseHash: String?
        var configurations: [Configuration]
    }

    struct Descriptor: Codable {
        var uuid: String
        var handle: UInt16
    }

    struct Characteristic: Codable {
        var uuid: String
        var properties: UInt8
        var declaration: UInt16
        var value: UInt16
        var end: UInt16
        var descriptors: [Descriptor]
    }

    struct Service: Codable {
        var uuid: String
        var handle: UInt16
        var end: UInt16
        var characteristics: [Characteristic]
    }

    struct Database: Codable {
        var hash: String
        var services: [Service]
    }

    struct Peer: Codable {
        var peer: String
        var address: String?
        var authenticated: Bool
        var secureConnections: Bool
        var irk: String?
        var resolvesAddresses: Bool?
        var localLtk: Key?
        var peerLtk: Key?
        var localCsrk: SignatureKey?
        var peerCsrk: SignatureKey?
        var linkKey: LinkKeyText?
        var client: Client?
        var database: Database?
    }

    /// The part common to all versions.
    struct Head: Codable {
        var format: String
        var version: Int
    }

    var format = BondDocument.format
    var version = BondDocument.version
    /// True if the keys were made in virtual time; absent otherwise.
    var virtualTime: Bool?
    var identity: Identity?
    var bonds: [Peer]
}
