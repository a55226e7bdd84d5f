import BBBluetoothCrypto
import BBCases
import BBHost
import BBPackets
import BBProducts

/// Pairs with the device under test, whichever it is. A device that declines to pair makes the case N/A; any other end is judged.
enum PairWithDevice: NamedAction {
    static let name = "pair with device"
    static let about = "the host pairs with the device under test; N/A if the device declines to pair"
    private static let bonding = PairingArguments.bonding
    private static let secureConnections = PairingArguments.secureConnections
    private static let mostKeySize = PairingArguments.mostKeySize
    private static let keys = PairingArguments.keys
    static var arguments: [ActionArgument] {
        [
            TypedArgument.connection.declaration, bonding.declaration, secureConnections.declaration, mostKeySize.declaration,
            keys.declaration, PairingArguments.keysAsked.declaration, PairingArguments.reserved.declaration,
        ]
    }
    static let results = [
        "model", "level", "keySize", "secureConnections", "bonded", "io", "requirements", "size", "keys", "publicKey", "random",
        "identityFault", "identity", "identityType",
    ]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (driver, link) = (try context.driver(), try context.link())
        let choice = context.bench.product.pairing ?? PairingChoice()
        var settings = choice.settings
        settings.isBonding = try context(bonding)
        settings.supportsSecureConnections = try context(secureConnections)
        settings.maximumKeySize = try context(mostKeySize)
        settings.localKeys = KeyDistribution(rawValue: UInt8(clamping: try context(keys)))
        settings.peerKeys = try PairingArguments.peerKeys(context, as: settings.localKeys)
        driver.host.quirks.pairing.setsReservedBits = try context(PairingArguments.reserved)
        driver.user = PairingUser(passkey: choice.passkey)
        let (result, record) = try await pair(link, settings)
        return CaseRecord([
            ("model", .text(result.model?.rawValue ?? "none")), ("level", .text("\(result.level)")), ("keySize", .number(result.keySize)),
            ("secureConnections", .number(result.isSecureConnections ? 1 : 0)), ("bonded", .number(result.isBonded ? 1 : 0)),
            ("io", .number(Int(record.response?.ioCapability.rawValue ?? 3))),
            ("requirements", .number(Int(record.response?.authReq.rawValue ?? 0))),
            ("size", .number(Int(record.response?.maximumEncryptionKeySize ?? 0))),
            ("keys", .number(Int(record.response?.responderKeyDistribution.rawValue ?? 0))),
            ("publicKey", .octets(record.publicKey?.publicKeyX ?? [])), ("random", .octets(record.random ?? [])),
            ("identityFault", .text(identityFault(of: link))), ("identity", .text(result.peer.address.digits)),
            ("identityType", .number(Int(result.peer.address.kind.rawValue))),
        ])
    }

    static func pair(_ link: Connection, _ settings: PairingSettings) async throws -> (PairingResult, PairingRecord) {
        let record = PairingRecord()
        link.handlesSMP = true
        let observer = link.pduObservers.add { direction, channel, payload in
            if channel == CID.smp { record.add(direction, payload.octets) }
        }
        defer { link.pduObservers.remove(observer) }
        do {
            return (try await link.pair(settings), record)
        } catch HostError.peer(let fault) {
            let failure = record.failure(fault)
            throw (failure as? PairingFault)?.stepFailure ?? failure
        }
    }

    /// The reason why a private address does not resolve with the device's IRK; empty if it does. Core Vol 3, Part C, 10.8.2.
    private static func identityFault(of link: Connection) -> String {
        let address = link.addresses.peer
        guard address.isResolvable, let bond = link.bond else { return "" }
        guard let key = bond.identityResolvingKey else { return "the address \(address) is resolvable, and the device gives no IRK" }
        return address.resolves(with: UInt128(littleEndianOctets: key))
            ? "" : "the address \(address) does not resolve with the IRK of the device"
    }
}
