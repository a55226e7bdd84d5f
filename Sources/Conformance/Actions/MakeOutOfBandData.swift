import BBCases
import BBHost

/// Generates the out-of-band data that the devices exchange before they pair. Core Vol 3, Part H, 2.3.5.6.4.
enum MakeOutOfBandData: NamedAction {
    static let name = "make out-of-band data"
    static let about = "the host makes a key pair for out-of-band pairing and returns its commitment"
    static var arguments: [ActionArgument] { [] }
    static let results = ["confirm", "random"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let data = try context.driver().host.makeOutOfBandData()
        return CaseRecord([("confirm", .octets(data.confirm ?? [])), ("random", .octets(data.random ?? []))])
    }
}
