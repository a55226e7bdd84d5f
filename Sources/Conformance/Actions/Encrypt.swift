import BBCases
import BBHost
import BBPackets

/// Encrypts the link with the key of a bond, as central. Core Vol 3, Part C, 10.3.
enum Encrypt: NamedAction {
    static let name = "encrypt"
    static let about = "the host encrypts the link with the key of the bond"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let results = ["level", "keySize"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let link = try context.link()
        do {
            try await link.encrypt()
        } catch HostError.peer(.disconnected(let reason)) where LostLink(reason)?.isOfTheAir == true {
            throw lost(reason)
        }
        return CaseRecord([("level", .text("\(link.security)")), ("keySize", .number(link.encryptionKeySize))])
    }
}

extension Encrypt {
    /// The loss of the connection while it is encrypted: a device with another key falls silent, since its controller finds a wrong MIC.
    /// Core Vol 6, Part B, 5.1.3.1.
    private static func lost(_ reason: ErrorCode) -> StepFailure {
        var failure = StepFailure(
            .environment,
            "the connection was lost, \(reason), when it was encrypted with the key of the bond: the device may have another key")
        failure.lostLink = LostLink(reason)
        return failure
    }
}

/// Reads the host's view of the link security. Core Vol 3, Part C, 10.2.
enum LookAtSecurity: NamedAction {
    static let name = "look at security"
    static let about = "the security level of the link, its key size, and if there is a bond"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let results = ["level", "keySize", "bonded"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let link = try context.link()
        // The events for this side may arrive after those for the other side.
        let deadline = min(context.bench.loop.now + .seconds(1), context.deadline)
        while link.security == .none, link.isConnected, context.bench.loop.now < deadline {
            try await context.bench.loop.sleep(for: .milliseconds(10))
        }
        if let fault = unresolved(link, context) { throw ActionFinding(text: fault) }
        return CaseRecord([
            ("level", .text("\(link.security)")), ("keySize", .number(link.encryptionKeySize)),
            ("bonded", .number(hasKey(link) ? 1 : 0)),
        ])
    }

    /// True if there is a key with which this side can encrypt the next connection. LE legacy pairing may distribute none. Core Vol 3, Part
    /// H, 3.6.1.
    private static func hasKey(_ link: Connection) -> Bool {
        (link.isCentral ? link.bond?.peerLongTermKey : link.bond?.localLongTermKey) != nil
    }

    /// The reason why the bond of this connection's pairing is not found by the peer's private address; nil if it is. Core Vol 3, Part C,
    /// 10.8.2.
    private static func unresolved(_ link: Connection, _ context: ActionContext) -> String? {
        let address = link.addresses.peer
        guard link.isConnected, link.security > .none, link.bond == nil, address.isResolvable else { return nil }
        let known = Set(context.bench.product.bonds.map(\.identity))
        guard let bond = (try? context.driver())?.host.keys.all.first(where: { !known.contains($0.identity) }) else { return nil }
        return bond.identityResolvingKey == nil
            ? "the address \(address) is resolvable, and the device gives no IRK, or one of zeros"
            : "the address \(address) does not resolve with the IRK of the device"
    }
}

/// Deletes the bonds of one side.
enum ForgetBonds: NamedAction {
    static let name = "forget bonds"
    static let about = "the host deletes all bonds"
    static var arguments: [ActionArgument] { [] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let keys = try context.driver().host.keys
        for bond in keys.all { keys.remove(PeerIdentity(bond.identity)) }
        return CaseRecord()
    }
}
