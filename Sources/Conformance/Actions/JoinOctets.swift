import BBCases

/// Joins octets, for values that come in parts or in another order.
enum JoinOctets: NamedAction {
    static let name = "join octets"
    static let about = "two values as one"
    static let first = TypedArgument.octets("first", default: [], "the value that comes first")
    static let second = TypedArgument.octets("second", default: [], "the value that follows")
    static let reversed = TypedArgument.flag("reversed", default: false, "1 to reverse the octets of the second value")
    static var arguments: [ActionArgument] { [first.declaration, second.declaration, reversed.declaration] }
    static let results = ["octets"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (first, second) = (try context(first), try context(second))
        return CaseRecord([("octets", .octets(first + (try context(reversed) ? second.reversed() : second)))])
    }
}
