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

/// Connects as a second device from now on, beside the links of the first.
enum TakeSecondAddress: NamedAction {
    static let name = "take a second address"
    static let about = "the host keeps its links and connects under another static address from now on, as a second device would"
    static var arguments: [ActionArgument] { [] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let host = try context.driver().host
        try await host.takeAddress(host.drawStaticAddress())
        return CaseRecord()
    }
}
