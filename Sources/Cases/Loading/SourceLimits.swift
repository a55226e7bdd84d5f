import Yams

/// Limits of a case file's size before and after parsing, so that repeated aliases and deep nesting do not exhaust the memory.
enum SourceLimits {
    package static let octets = 256 * 1024
    /// The limit of open brackets and of a line's indentation in columns, which is an upper bound of the nesting of blocks.
    static let depth = 64
    static let column = 120
    /// The limit of aliases; with this number a file can expand to a few hundred times its size.
    static let aliases = 16
    static let nodes = 50_000
    /// The limit of all rounds of a file with their words written out.
    static let roundNodes = 8 * nodes
    /// A text of this many octets counts as two values.
    private static let longText = 256

    /// Returns the mistake in the text as a whole, with line and column.
    static func impediment(in text: String) -> (line: Int, column: Int, text: String)? {
        guard text.utf8.count <= octets else { return (1, 1, "the file is longer than \(octets / 1024) KiB") }
        var open = 0
        var aliasCount = 0
        var line = 1
        var column = 0
        var isIndent = true
        var previous = UInt8(ascii: "\n")
        for octet in text.utf8 {
            column += 1
            switch octet {
            case UInt8(ascii: "["), UInt8(ascii: "{"): open += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): open = max(0, open - 1)
            case UInt8(ascii: "*") where " \n\t[{,:-?".utf8.contains(previous): aliasCount += 1
            default: break
            }
            if isIndent { isIndent = " -?:\t&!|>".utf8.contains(octet) || octet == UInt8(ascii: "\n") }
            if isIndent, column > self.column { return (line, column, "the text is indented too far") }
            if open > depth { return (line, column, "brackets are nested too deeply") }
            if aliasCount > aliases { return (line, column, "there are more than \(aliases) aliases; write a procedure instead") }
            if octet == UInt8(ascii: "\n") {
                line += 1
                column = 0
                isIndent = true
            }
            previous = octet
        }
        return nil
    }

    /// True if the node with expanded aliases is within the limit.
    static func isReasonable(_ node: Node) -> Bool {
        var budget = nodes
        return spend(&budget, on: node)
    }

    /// Takes the values of a node from a budget; false if it is used up.
    static func spend(_ budget: inout Int, on node: Node) -> Bool {
        budget -= 1
        guard budget >= 0 else { return false }
        switch node {
        case .scalar(let scalar):
            budget -= scalar.string.utf8.count / longText
            return budget >= 0
        case .alias: return true
        case .sequence(let sequence):
            for inner in sequence { guard spend(&budget, on: inner) else { return false } }
        case .mapping(let mapping):
            for (key, value) in mapping { guard spend(&budget, on: key), spend(&budget, on: value) else { return false } }
        }
        return true
    }
}
