import Foundation

/// Parts of a JSON Schema that occur more than once and stand in its definitions. Their names depend on the order in which they are needed.
final class SharedSchemas {
    private var names: [String: String] = [:]
    private(set) var definitions: [String: [String: Any]] = [:]

    /// The length up to which a part is not worth a definition.
    private static let shortest = 80

    /// Returns a reference to the definition of the part, or the part if it is short.
    func reference(to schema: [String: Any]) -> [String: Any] {
        let text = Self.text(schema)
        guard text.utf8.count > Self.shortest else { return schema }
        let name = names[text] ?? "value \(names.count + 1)"
        (names[text], definitions[name]) = (name, schema)
        return ["$ref": "#/definitions/\(name)"]
    }

    static func text(_ schema: [String: Any]) -> String {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: schema, options: options) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
