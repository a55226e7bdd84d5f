import BBCases

/// Continues under the first address with its bonds.
enum TakeFirstIdentity: NamedAction {
    static let name = "take the first identity"
    static let about = "the host continues under the address and with the bonds that it had before it took a new identity"
    static var arguments: [ActionArgument] { [] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try await context.bench.takeFirstIdentity(context.side)
        return CaseRecord()
    }
}

/// Continues under another address without bonds, as another device.
enum TakeNewIdentity: NamedAction {
    static let name = "take a new identity"
    static let about = "the host continues under a new static address and without bonds"
    static var arguments: [ActionArgument] { [] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try await context.bench.takeNewIdentity(context.side)
        return CaseRecord()
    }
}
