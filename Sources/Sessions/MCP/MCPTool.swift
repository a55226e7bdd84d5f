import Foundation

/// A mistake in the arguments of a tool, or a failure of it.
struct MCPMistake: Error {
    var text: String
    /// The client has withdrawn the request, and gets no answer.
    var isCancelled = false
}

/// The answer of a tool.
struct MCPAnswer {
    let text: String
    let isError: Bool

    private static let longest = 60_000

    /// Text of the bench.
    init(text: String, isError: Bool = false) {
        self.isError = isError
        let isWhole = text.utf8.count <= Self.longest
        self.text = isWhole ? text : String(decoding: text.utf8.prefix(Self.longest), as: UTF8.self) + "\n(cut; select less)"
    }

    /// Text that may be a device's, in the strings of JSON.
    init(document: Any, isError: Bool = false) {
        self.isError = isError
        let whole = Self.json(document)
        // A document that was cut is none any more: it is quoted as a whole.
        text =
            whole.utf8.count <= Self.longest
            ? whole : Self.json(["cut": String(decoding: whole.utf8.prefix(Self.longest / 3), as: UTF8.self), "note": "cut; select less"])
    }

    private static func json(_ document: Any) -> String {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes, .fragmentsAllowed]
        let data = try? JSONSerialization.data(withJSONObject: document, options: options)
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

/// A tool with its arguments.
struct MCPTool: Sendable {
    enum Kind: String, Sendable {
        case string, integer
        case list = "array"
    }

    struct Argument: Sendable {
        var name: String
        var kind: Kind
        var about: String
        var isRequired = false
    }

    var name: String
    var about: String
    var arguments: [Argument]
    /// True if the tool changes nothing outside the bench.
    var isReadOnly = true

    /// The description for `tools/list`.
    var description: [String: Any] {
        var properties: [String: Any] = [:]
        for argument in arguments {
            var schema: [String: Any] = ["type": argument.kind.rawValue, "description": argument.about]
            if argument.kind == .list { schema["items"] = ["type": "string"] }
            properties[argument.name] = schema
        }
        let schema: [String: Any] = [
            "type": "object", "properties": properties, "required": arguments.filter(\.isRequired).map(\.name),
            "additionalProperties": false,
        ]
        return [
            "name": name, "description": about, "inputSchema": schema,
            "annotations": ["readOnlyHint": isReadOnly, "destructiveHint": false, "openWorldHint": !isReadOnly],
        ]
    }

    /// Reads arguments; numbers become text.
    func read(_ values: [String: Any]) throws(MCPMistake) -> [String: [String]] {
        var read: [String: [String]] = [:]
        for (name, value) in values where !(value is NSNull) {
            guard let argument = arguments.first(where: { $0.name == name }) else {
                throw MCPMistake(text: "\(self.name) has no argument '\(name)'; it has \(arguments.map(\.name).joined(separator: ", "))")
            }
            read[name] = try Self.read(value, as: argument)
        }
        for argument in arguments where argument.isRequired && read[argument.name]?.isEmpty != false {
            throw MCPMistake(text: "\(name) needs the argument '\(argument.name)': \(argument.about)")
        }
        return read
    }

    private static let mostValues = 1_000

    private static func read(_ value: Any, as argument: Argument) throws(MCPMistake) -> [String] {
        switch (argument.kind, value) {
        case (.string, let text as String): return [text]
        case (.list, let list as [String]) where list.count <= mostValues: return list
        case (.integer, let number as NSNumber) where Double(number.intValue) == number.doubleValue:
            return ["\(number.intValue)"]
        default: throw MCPMistake(text: "'\(argument.name)' has the type \(argument.kind.rawValue): \(argument.about)")
        }
    }
}
