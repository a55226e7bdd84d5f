/// What a bond file says, as it stands there. Keys and numbers are hexadecimal, most significant octet first; docs/bonds.md describes it.
struct BondDocument: Codable {
    static let format = "bluebench bonds"
    static let version = 1

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
        var authenticated: Bool
        var secureConnections: Bool
        var irk: String?
        var resolvesAddresses: Bool?
        var localLtk: Key?
        var peerLtk: Key?
        var localCsrk: SignatureKey?
        var peerCsrk: SignatureKey?
        var linkKey: String?
        var client: Client?
        var database: Database?
    }

    /// What every version has.
    struct Head: Codable {
        var format: String
        var version: Int
    }

    var format = BondDocument.format
    var version = BondDocument.version
    var identity: Identity?
    var bonds: [Peer]
}
