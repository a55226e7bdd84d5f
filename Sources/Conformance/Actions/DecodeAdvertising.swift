import BBCases
import BBProducts

/// Decodes advertising data that a step has received, and holds it to the rules of AD structures. Core Vol 3, Part C, 11.
enum DecodeAdvertising: NamedAction {
    static let name = "decode advertising"
    static let about = "decodes the AD structures of advertising data and a scan response"
    static let data = TypedArgument.octets("data", default: [], "advertising data")
    static let response = TypedArgument.octets("response", default: [], "scan response data")
    static var arguments: [ActionArgument] { [data.declaration, response.declaration] }
    static let results = rules

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        CaseRecord(AdvertisingRules(data: try context(data), response: try context(response)).results)
    }
}

extension DecodeAdvertising {
    /// The results of both actions that decode advertising.
    static let rules = [
        "name", "cut", "zeros", "sizes", "repeats", "flags", "hasFlags", "flagOctets", "targets", "types", "allTypes",
    ]
}

extension AdvertisingRules {
    /// The content of the data, and its violations.
    var results: [(String, CaseValue)] {
        [
            ("name", .octets(name)), ("cut", .text(cut)), ("zeros", .text(zeros)), ("sizes", .text(sizes)), ("repeats", .text(repeats)),
            ("flags", .text(flags)), ("hasFlags", .number(flagOctets == nil ? 0 : 1)), ("flagOctets", .octets(flagOctets ?? [])),
            ("targets", .text(targets)), ("types", .list(types(0))), ("allTypes", .list(types(0) + types(1))),
        ]
    }
}
