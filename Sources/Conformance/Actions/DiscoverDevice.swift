import BBCases
import BBProducts

/// Discovers the services, characteristics and descriptors of the device under test and reads their values. Core Vol 3, Part G, 4.4 to 4.8.
enum DiscoverDevice: NamedAction {
    static let name = "discover device"
    static let about = "the client discovers and reads everything on the device under test"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try await Surveyor(try context.driver().host).discoverAll(on: try context.link())
        return CaseRecord()
    }
}
