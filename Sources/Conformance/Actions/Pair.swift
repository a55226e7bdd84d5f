import BBCases
import BBHost
import BBPackets

/// Pairs with the security manager of the bench's host. Core Vol 3, Part H, 2.1.
enum Pair: NamedAction {
    static let name = "pair"
    static let about = "the host pairs as the central, or requests pairing as the peripheral"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] + PairingArguments.all }
    static let results = ["model", "level", "keySize", "secureConnections", "bonded", "number", "identity", "identityType"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (driver, link) = (try context.driver(), try context.link())
        let settings = try PairingArguments.prepare(driver, context)
        link.handlesSMP = true
        let result = try await link.pair(settings)
        return CaseRecord([
            ("model", .text(result.model?.rawValue ?? "none")), ("level", .text("\(result.level)")), ("keySize", .number(result.keySize)),
            ("secureConnections", .number(result.isSecureConnections ? 1 : 0)), ("bonded", .number(result.isBonded ? 1 : 0)),
            ("number", .number(Int(driver.user.shown ?? 0))), ("identity", .text(result.peer.address.digits)),
            ("identityType", .number(Int(result.peer.address.kind.rawValue))),
        ])
    }
}

/// Sets the behaviour of a host whose peer requests pairing.
enum PrepareForPairing: NamedAction {
    static let name = "prepare for pairing"
    static let about = "the host accepts pairing requests with these settings"
    static var arguments: [ActionArgument] { PairingArguments.all }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let driver = try context.driver()
        driver.host.pairingSettings = try PairingArguments.prepare(driver, context)
        return CaseRecord()
    }
}

/// Lets the user of a host answer the questions of pairing that wait.
enum AnswerPairing: NamedAction {
    static let name = "answer pairing"
    static let about = "the user answers what a pairing with `waits: 1` asks, now and later"
    static var arguments: [ActionArgument] { [PairingArguments.passkey.declaration, PairingArguments.agrees.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try context.driver().answerPairing(
            passkey: UInt32(try context(PairingArguments.passkey)), agrees: try context(PairingArguments.agrees))
        return CaseRecord()
    }
}
