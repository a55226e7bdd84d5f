import BBCases
import BBHost
import BBPackets

/// Lets a case exchange ATT and signalling PDUs itself on a connection of the bench's host.
enum ReleaseChannels: NamedAction {
    static let name = "release channels"
    static let about = "the host ignores ATT and L2CAP signalling on the connection, and goes on with SMP"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let link = try context.link()
        for cid in [CID.att, CID.leSignaling] { link.channel(cid).handler = { _ in } }
        return CaseRecord()
    }
}
