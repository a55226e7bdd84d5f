import BBTiming

/// Mutates text by its words, brackets and lines, so that JSON, YAML and conditions mostly stay well-formed.
struct TextMutation {
    var random: RandomSource

    /// A piece of a text: a quoted string, a word, white space or a single sign.
    private struct Token {
        var range: Range<Int>
        var kind: Kind
    }

    private enum Kind { case value, open, close, comma, space, other }

    /// Values at and beyond the limits of what readers expect.
    private static let values = [
        "0", "-1", "1", "2", "255", "256", "65535", "65536", "2147483648", "4294967296", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "1e300",
        "-1e300", "1e308", "1e400", "1e-320", "0.5", "-0.0", "1e18", "1e15", "null", "true", "false", "[]", "{}", "[[]]", "\"\"", "\"0\"",
        "\"1/2\"", "\"FAIL\"", "\"PASS\"", "\"\\u0000\"", "\"\\ud83d\\ude00\"", "\"a/b\"", "\"..\"", "nan", ".inf", "~", "0x", "'", "*a",
        "&a b", "<<", "1 s", "10000000 s", "-5 ms", "a..b", "[0, 1, 2]",
    ].map { Array($0.utf8) }

    /// A text that differs in one to four places.
    mutating func changed(_ text: [UInt8], room: Int) -> [UInt8] {
        var text = text
        for _ in 0...below(4) { text = disturbed(text) }
        return Array(text.prefix(room))
    }

    private mutating func disturbed(_ text: [UInt8]) -> [UInt8] {
        let tokens = Self.tokens(of: text)
        guard !tokens.isEmpty else { return value() }
        let places = tokens.indices.filter { tokens[$0].kind == .value }
        let token = tokens[places.isEmpty ? below(tokens.count) : places[below(places.count)]]
        switch below(10) {
        case 0, 1, 2: return replacing(token.range, with: value(), in: text)
        case 3: return replacing(token.range, with: copy(of: tokens[below(tokens.count)], text), in: text)
        case 4: return changedOctet(of: text, in: token.range)
        case 5: return changedLines(text)
        case 6: return changedElement(of: text, tokens)
        case 7: return replacing(token.range, with: nested(text[token.range]), in: text)
        case 8: return replacing(tokens[below(tokens.count)].range, with: [], in: text)
        default: return replacing(token.range.lowerBound..<token.range.lowerBound, with: copy(of: token, text) + [0x20], in: text)
        }
    }

    private mutating func below(_ limit: Int) -> Int { limit > 0 ? Int(random.next() % UInt64(limit)) : 0 }

    private mutating func value() -> [UInt8] { Self.values[below(Self.values.count)] }

    private func copy(of token: Token, _ text: [UInt8]) -> [UInt8] { Array(text[token.range]) }

    private func replacing(_ range: Range<Int>, with new: [UInt8], in text: [UInt8]) -> [UInt8] {
        Array(text[..<range.lowerBound]) + new + Array(text[range.upperBound...])
    }

    private mutating func changedOctet(of text: [UInt8], in range: Range<Int>) -> [UInt8] {
        var text = text
        text[range.lowerBound + below(range.count)] = UInt8(truncatingIfNeeded: random.next())
        return text
    }

    /// A value within brackets, sometimes within very many.
    private mutating func nested(_ value: ArraySlice<UInt8>) -> [UInt8] {
        let depth = [1, 1, 2, 40, 600][below(5)]
        let (open, close) = random.chance(0.5) ? (Array("[".utf8), Array("]".utf8)) : (Array("{\"a\":".utf8), Array("}".utf8))
        return Array(repeatElement(open, count: depth).joined()) + value + Array(repeatElement(close, count: depth).joined())
    }

    // MARK: Lines and elements

    private mutating func changedLines(_ text: [UInt8]) -> [UInt8] {
        var lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        let (one, other) = (below(lines.count), below(lines.count))
        switch below(4) {
        case 0: lines.remove(at: one)
        case 1: lines.insert(lines[one], at: other)
        case 2: lines.swapAt(one, other)
        default:
            let indent = [UInt8](repeating: 0x20, count: 2 * below(4))
            lines[one] = (indent + lines[one].drop { $0 == 0x20 })[...]
        }
        return [UInt8](lines.joined(separator: [0x0A]))
    }

    /// Removes or repeats a bracket with its content.
    private mutating func changedElement(of text: [UInt8], _ tokens: [Token]) -> [UInt8] {
        let opens = tokens.indices.filter { tokens[$0].kind == .open }
        guard !opens.isEmpty else { return changedLines(text) }
        let first = opens[below(opens.count)]
        var depth = 0
        let last = tokens[first...].firstIndex { token in
            depth += token.kind == .open ? 1 : token.kind == .close ? -1 : 0
            return depth == 0
        }
        guard let last else { return text }
        let range = tokens[first].range.lowerBound..<tokens[last].range.upperBound
        switch below(3) {
        case 0: return replacing(range, with: value(), in: text)
        case 1: return replacing(range.upperBound..<range.upperBound, with: [0x2C] + text[range], in: text)
        default:
            return replacing(range, with: Array(repeatElement(text[range] + [0x2C], count: 1 + below(20)).joined().dropLast()), in: text)
        }
    }

    // MARK: Tokens

    private static func tokens(of text: [UInt8]) -> [Token] {
        var tokens: [Token] = []
        var place = 0
        while place < text.count {
            let (end, kind) = token(text, at: place)
            tokens.append(Token(range: place..<end, kind: kind))
            place = end
        }
        return tokens
    }

    private static func token(_ text: [UInt8], at start: Int) -> (end: Int, kind: Kind) {
        var end = start + 1
        switch text[start] {
        case UInt8(ascii: "\""):
            while end < text.count, text[end] != UInt8(ascii: "\"") { end += text[end] == UInt8(ascii: "\\") ? 2 : 1 }
            return (min(text.count, end + 1), .value)
        case UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: "("): return (end, .open)
        case UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ")"): return (end, .close)
        case UInt8(ascii: ","): return (end, .comma)
        case 0x09...0x0D, 0x20:
            while end < text.count, text[end] == 0x20 { end += 1 }
            return (end, .space)
        case let octet where isWord(octet):
            while end < text.count, isWord(text[end]) { end += 1 }
            return (end, .value)
        default: return (end, .other)
        }
    }

    private static func isWord(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), 0x80...: true
        default: false
        }
    }
}
