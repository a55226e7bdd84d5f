import BBCases
import BBHost

/// Computes the Database Hash from the attributes that the device shows: all of them by Find Information, the values of those that count by
/// reading. Core Vol 3, Part G, 7.3.1.
enum ComputeDatabaseHash: NamedAction {
    static let name = "compute database hash"
    static let about = "the client reads all declarations and computes the Database Hash"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let results = ["hash", "attributes"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let rows = try await ShownAttribute.all(of: context.link().gatt)
        let count = rows.count { $0.hashes(isValue: false) }
        return CaseRecord([("hash", .octets(ShownAttribute.hash(of: rows))), ("attributes", .number(count))])
    }
}
