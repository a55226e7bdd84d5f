/// The selection of a page: the fields of its form.
struct LiveQuery: Hashable, Sendable {
    /// The selection by what packets are.
    var text = SelectionText()
    /// Only packets that a rule has marked.
    var isMarked = false
    /// Only packets that somebody has flagged.
    var isFlagged = false

    /// - Parameter fields: the query of a request; empty fields select everything.
    init(_ fields: [String: String]) {
        func field(_ name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }
        text.condition = field("where")
        (text.words, text.pattern) = Self.search(field("words"))
        (text.layers, text.connection) = (field("layer"), field("connection"))
        (isMarked, isFlagged) = (fields["marked"] == "1", fields["flagged"] == "1")
    }

    /// The text of the search field: words, or a regular expression between slashes.
    private static func search(_ text: String?) -> (words: String?, pattern: String?) {
        guard let text, text.utf8.count > 2, text.hasPrefix("/"), text.hasSuffix("/") else { return (text, nil) }
        return (nil, String(text.dropFirst().dropLast()))
    }
}
