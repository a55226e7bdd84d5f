/// Removes addresses, keys, octets of values and quoted names from text of which nothing else is known.
enum SecretFilter {
    static let mark = "(hidden)"
    /// The number of octets of a value that is shown.
    private static let mostOctets = 4
    /// The number of words and signs that a quotation may have.
    private static let mostQuoted = 512

    /// - Parameters:
    ///   - quotes: true to hide what stands in quotation marks, too.
    ///   - known: texts that may be quoted.
    static func hide(_ text: String, quotes: Bool, except known: [String]) -> String {
        var tokens = self.tokens(Array(text.utf8)[...])
        if quotes { hideQuotes(&tokens, known) }
        hideOctets(&tokens)
        return String(decoding: tokens.joined(), as: UTF8.self)
    }

    // MARK: Tokens

    /// Words of letters and digits, and single octets between them.
    private static func tokens(_ text: ArraySlice<UInt8>) -> [[UInt8]] {
        var tokens: [[UInt8]] = []
        var rest = text
        while let first = rest.first {
            let word = rest.prefix(while: isWord)
            tokens.append(word.isEmpty ? [first] : Array(word))
            rest = rest.dropFirst(max(1, word.count))
        }
        return tokens
    }

    private static func isWord(_ octet: UInt8) -> Bool {
        isDigit(octet) || (UInt8(ascii: "g")...UInt8(ascii: "z")).contains(octet | 0x20) || octet == UInt8(ascii: "_") || octet >= 0x80
    }

    private static func isDigit(_ octet: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(octet | 0x20)
    }

    // MARK: Names

    /// Replaces what stands in quotation marks: `'` and `"` that begin after something else than a word, and end before something else.
    private static func hideQuotes(_ tokens: inout [[UInt8]], _ known: [String]) {
        var kept: [[UInt8]] = []
        var index = 0
        while index < tokens.count {
            let token = tokens[index]
            let isFree = kept.last?.first.map { !isWord($0) } ?? true
            guard token == [UInt8(ascii: "'")] || token == [UInt8(ascii: "\"")], isFree, let end = end(ofQuote: index, in: tokens) else {
                kept.append(token)
                index += 1
                continue
            }
            let quoted = String(decoding: tokens[(index + 1)..<end].joined(), as: UTF8.self)
            let isKnown = quoted.isEmpty || known.contains { $0.contains(quoted) }
            kept += isKnown ? Array(tokens[index...end]) : [token, Array(mark.utf8), token]
            index = end + 1
        }
        tokens = kept
    }

    private static func end(ofQuote start: Int, in tokens: [[UInt8]]) -> Int? {
        tokens[(start + 1)...].prefix(mostQuoted).indices.first { index in
            tokens[index] == tokens[start] && (index + 1 == tokens.count || !isWord(tokens[index + 1][0]))
        }
    }

    // MARK: Octets

    /// Replaces more than `mostOctets` octets in a row, with spaces, colons, dashes or commas between them or without, as in addresses and keys.
    private static func hideOctets(_ tokens: inout [[UInt8]]) {
        var kept: [[UInt8]] = []
        var index = 0
        while index < tokens.count {
            let end = endOfOctets(index, in: tokens)
            if end > index {
                kept.append(Array(mark.utf8))
                index = end
            } else {
                kept.append(tokens[index])
                index += 1
            }
        }
        tokens = kept
    }

    /// The end of a long row of octets that begins at a token; the token itself if there is none.
    private static func endOfOctets(_ start: Int, in tokens: [[UInt8]]) -> Int {
        if isLong(tokens[start]) { return start + 1 }
        guard isOctet(tokens[start]) else { return start }
        var (index, count) = (start + 1, 1)
        while index + 1 < tokens.count, " :-,".utf8.contains(tokens[index][0]), isOctet(tokens[index + 1]) {
            index += 2
            count += 1
        }
        return count > mostOctets ? index : start
    }

    private static func isOctet(_ token: [UInt8]) -> Bool { token.count == 2 && token.allSatisfy(isDigit) }

    private static func isLong(_ token: [UInt8]) -> Bool {
        let digits = token.starts(with: Array("0x".utf8)) ? token.dropFirst(2) : token[...]
        return digits.count > 2 * mostOctets && digits.count % 2 == 0 && digits.allSatisfy(isDigit)
    }
}
