import Cases
import Host

/// Encrypts the link with the key of a bond, as central. Core Vol 3, Part C, 10.3.
enum Encrypt: NamedAction {
    static let name = "encrypt"
    static let about = "the host encrypts the link with the key of the bond"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let results = ["level", "keySize"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let link = try context.link()
        try await link.encrypt()
        return CaseRecord([("level", .text("\(link.security)")), ("keySize", .number(link.encryptionKeySize))])
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
        return CaseRecord([
            ("level", .text("\(link.security)")), ("keySize", .number(link.encryptionKeySize)),
            ("bonded", .number(link.bond == nil ? 0 : 1)),
        ])
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
