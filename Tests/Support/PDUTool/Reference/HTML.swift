/// A writer of HTML: text is escaped, elements are closed.
struct HTML {
    private(set) var content = ""

    /// Writes unescaped markup.
    mutating func raw(_ markup: String) { content += markup }

    mutating func text(_ text: String) {
        for character in text {
            switch character {
            case "<": content += "&lt;"
            case ">": content += "&gt;"
            case "&": content += "&amp;"
            case "\"": content += "&quot;"
            default: content.append(character)
            }
        }
    }

    mutating func element(_ name: String, _ attributes: KeyValuePairs<String, String> = [:], _ body: (inout HTML) -> Void) {
        content += "<" + name
        for (attribute, value) in attributes {
            content += " " + attribute + "=\""
            text(value)
            content += "\""
        }
        content += ">"
        body(&self)
        content += "</\(name)>"
        if Self.blocks.contains(name) { content += "\n" }
    }

    /// Writes a link to an element of this page.
    mutating func link(to identifier: String, _ text: String) {
        element("a", ["href": "#" + identifier]) { $0.text(text) }
    }

    mutating func code(_ text: String) { element("code") { $0.text(text) } }

    private static let blocks: Set<String> = [
        "title", "header", "nav", "main", "section", "article", "table", "tr", "ul", "li", "h2", "h3", "p",
    ]
}
