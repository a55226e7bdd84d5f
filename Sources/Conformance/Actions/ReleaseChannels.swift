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
        if let link = try context.driver().links[try context(.connection).rawValue] {
            for cid in [CID.att, CID.leSignaling] { link.channel(cid).handler = { _ in } }
        } else {
            try context.classicLink().channel(CID.signaling).handler = { _ in }
        }
        return CaseRecord()
    }
}
