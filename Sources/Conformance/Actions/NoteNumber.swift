import BBCases

/// Notes a number, so that a case can require that a value is not used twice.
enum NoteNumber: NamedAction {
    static let name = "note number"
    static let about = "counts how often the case has noted this number before"
    static let number = TypedArgument.number("number", 0...0xFFFF_FFFF, "the number")
    static var arguments: [ActionArgument] { [number.declaration] }
    static let results = ["before"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let number = try context(number)
        let before = context.bench.notedNumbers[number, default: 0]
        context.bench.notedNumbers[number] = before + 1
        return CaseRecord([("before", .number(before))])
    }
}
