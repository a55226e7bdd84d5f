import BBCases
import BBPackets

/// GAP's Terminate Connection procedure. Core Vol 3, Part C, 9.3.10.
enum Disconnect: NamedAction {
    static let name = "disconnect"
    static let about = "the host ends the connection"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let results = ["reason"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let link = try context.link()
        let reason = try await link.disconnect()
        try context.driver().links[link.handle.rawValue] = nil
        return CaseRecord([("reason", .number(Int(reason.rawValue)))])
    }
}
