import BBPackets

/// Text of others in Markdown.
enum MarkdownText {
    /// Text for a table cell: one line with escaped markup.
    static func cell(_ text: String) -> String {
        var cell = ""
        for character in plain(text) {
            if "\\`*_[]<>|#~".contains(character) { cell.append("\\") }
            cell.append(character)
        }
        return cell
    }

    /// One line without control characters.
    static func plain(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).map { PlainText.escaped(String($0)) }.joined(separator: " ")
    }
}
