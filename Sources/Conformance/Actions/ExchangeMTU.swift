import BBCases

/// Exchange MTU. Core Vol 3, Part G, 4.3.1.
enum ExchangeMTU: NamedAction {
    static let name = "exchange mtu"
    static let about = "the client exchanges ATT_MTU"
    static let mtu = TypedArgument.number("mtu", 23...517, default: 247, "the client's receive MTU")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, mtu.declaration] }
    static let results = ["mtu"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        CaseRecord([("mtu", .number(try await context.link().gatt.exchangeMTU(try context(mtu))))])
    }
}
