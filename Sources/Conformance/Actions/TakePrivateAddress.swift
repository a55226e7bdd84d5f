import BBCases
import BBHost

/// Uses a resolvable private address, and another one each time. Core Vol 3, Part C, 10.7.
enum TakePrivateAddress: NamedAction {
    static let name = "take a private address"
    static let about = "the host uses a new resolvable private address of its IRK from now on"
    static var arguments: [ActionArgument] { [] }
    static let results = ["address", "type"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let host = try context.driver().host
        if host.privateAddress == nil { try await host.enablePrivacy() } else { try await host.changePrivateAddress() }
        let address = host.privateAddress ?? host.address
        return CaseRecord([("address", .text(address.digits)), ("type", .number(Int(address.kind.rawValue)))])
    }
}
