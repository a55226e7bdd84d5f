import ArgumentParser
import BBHost
import BBPackets
import BBReport

/// `bluebench bonds`: manages the bench's bonds.
struct BondsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bonds", abstract: "List, show and forget the bonds that `bluebench pair` made.",
        subcommands: [List.self, Show.self, Forget.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "One line for each bond.")
        @OptionGroup var store: BondOptions
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            let keys = try store.read(for: nil)
            if json {
                return Console.write(try ResultsJSON.encode(keys.all.map { BondReport($0, showsKeys: false) }, keys: .convertToSnakeCase))
            }
            if keys.all.isEmpty { Console.line("no bonds; `bluebench pair` makes some") }
            for bond in keys.all { Console.line(BondReport(bond, showsKeys: false).line) }
            if keys.isOfVirtualTime { Console.complain("these bonds were made in virtual time and can be used only there") }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show one bond; its keys only with --keys.")
        @Argument(help: "Peer address: C0:B1:BE:00:00:01/random, or a private address that its IRK resolves.") var peer: String
        @Flag(help: "Also show the keys.") var keys = false
        @OptionGroup var store: BondOptions

        func run() throws {
            let bond = try BondsCommand.find(peer, in: try store.read(for: nil))
            Console.write(try ResultsJSON.encode(BondReport(bond, showsKeys: keys), keys: .convertToSnakeCase))
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget a bond, or all.",
            discussion: "The peer keeps its keys. It may have to forget them before it pairs again.")
        @Argument(help: "Peer address: C0:B1:BE:00:00:01/random.") var peer: String?
        @Flag(help: "Forget every bond.") var all = false
        @OptionGroup var store: BondOptions

        func run() throws {
            guard all != (peer != nil) else { throw CommandFailure(.usage, "missing peer: give its address, or --all") }
            guard let file = try store.open(makes: false, for: nil) else { throw CommandFailure(.usage, "there are no bonds") }
            let forgotten = try peer.map { [try BondsCommand.find($0, in: file.keys)] } ?? file.keys.all
            for bond in forgotten { file.keys.remove(PeerIdentity(bond.identity)) }
            try file.check()
            for bond in forgotten { Console.line("forgot \(bond.identity.argument)") }
        }
    }

    private static func find(_ text: String, in keys: KeyStore) throws -> Bond {
        let address = try DeviceAddress(argument: text)
        guard let bond = keys[PeerIdentity(address)] else {
            throw CommandFailure(.usage, "there is no bond with \(address.argument); `bluebench bonds` lists them")
        }
        return bond
    }
}

/// A bond as text and JSON. Keys are hexadecimal, most significant octet first.
struct BondReport: Encodable {
    struct Key: Encodable {
        var size: Int
        var key: String?
        var ediv: String?
        var rand: String?
    }

    struct Signing: Encodable {
        var counter: UInt32
        var key: String?
    }

    struct LinkKeyReport: Encodable {
        var type: String
        var size: Int
        var key: String?
    }

    var peer: String
    var authenticated: Bool
    var secureConnections: Bool
    var resolvesPrivateAddresses: Bool
    var irk: String?
    var localLtk: Key?
    var peerLtk: Key?
    var localCsrk: Signing?
    var peerCsrk: Signing?
    var linkKey: LinkKeyReport?

    init(_ bond: Bond, showsKeys: Bool) {
        func text(_ octets: [UInt8]) -> String? { showsKeys ? Hex.octets(octets.reversed()) : nil }
        func key(_ key: LongTermKey) -> Key {
            Key(
                size: key.size, key: text(key.value), ediv: showsKeys ? Hex.number(key.encryptedDiversifier) : nil,
                rand: showsKeys ? Hex.number(key.randomNumber) : nil)
        }
        peer = bond.identity.argument
        authenticated = bond.isAuthenticated
        secureConnections = bond.isSecureConnections
        resolvesPrivateAddresses = bond.identityResolvingKey != nil
        irk = bond.identityResolvingKey.flatMap(text)
        localLtk = bond.localLongTermKey.map(key)
        peerLtk = bond.peerLongTermKey.map(key)
        localCsrk = bond.localSigningKey.map { Signing(counter: $0.counter, key: text($0.value)) }
        peerCsrk = bond.peerSigningKey.map { Signing(counter: $0.counter, key: text($0.value)) }
        linkKey = bond.linkKey.map { LinkKeyReport(type: "\($0.type)", size: $0.size, key: text($0.value)) }
    }

    var line: String {
        var words = [peer]
        if let size = (localLtk ?? peerLtk)?.size {
            words += [
                authenticated ? "authenticated" : "unauthenticated", secureConnections ? "LE Secure Connections" : "LE legacy pairing",
                "key of \(size) octets",
            ]
        }
        if let linkKey { words.append("BR/EDR: \(linkKey.type)") }
        if resolvesPrivateAddresses { words.append("resolves private addresses") }
        if localCsrk != nil || peerCsrk != nil { words.append("signs") }
        return words.joined(separator: "  ")
    }
}
