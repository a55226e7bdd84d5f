/// Parses a regular expression.
struct PatternParser {
    typealias Malformed = LinearPattern.Malformed

    private var rest: ArraySlice<Unicode.Scalar>
    private var depth = 0
    private let ignoresCase: Bool
    private static let deepest = 50
    private static let mostRepetitions = 1_000

    static func tree(of text: String) throws(Malformed) -> PatternTree {
        guard text.utf8.count <= LinearPattern.longest else { throw mistake("it has more than \(LinearPattern.longest) octets") }
        let ignoresCase = text.hasPrefix("(?i)")
        var parser = PatternParser(rest: Array(text.unicodeScalars.dropFirst(ignoresCase ? 4 : 0))[...], ignoresCase: ignoresCase)
        let tree = try parser.choice()
        guard parser.rest.isEmpty else { throw mistake("a closing bracket ) without an opening one") }
        return tree
    }

    private init(rest: ArraySlice<Unicode.Scalar>, ignoresCase: Bool) { (self.rest, self.ignoresCase) = (rest, ignoresCase) }

    private static func mistake(_ text: String) -> Malformed { Malformed(description: text) }

    // MARK: Structure

    private mutating func choice() throws(Malformed) -> PatternTree {
        var choices = [try sequence()]
        while take("|") { choices.append(try sequence()) }
        return choices.count == 1 ? choices[0] : .choice(choices)
    }

    private mutating func sequence() throws(Malformed) -> PatternTree {
        var parts: [PatternTree] = []
        while let next = rest.first, next != "|", next != ")" { parts.append(try repeated()) }
        return parts.count == 1 ? parts[0] : parts.isEmpty ? .empty : .sequence(parts)
    }

    private mutating func repeated() throws(Malformed) -> PatternTree {
        if let sign = rest.first, "*+?".unicodeScalars.contains(sign) { throw Self.mistake("nothing stands before \(sign)") }
        let part = try single()
        guard let (least, most) = try count() else { return part }
        if try count() != nil { throw Self.mistake("two repetitions stand side by side") }
        // Any number of nothing is nothing, which would take time and no room.
        let tree = PatternTree.repetition(part, least: least, most: most)
        return part.size == 0 || tree.size == 0 ? .empty : tree
    }

    /// A repetition; nil if there is none. A brace without numbers is a character.
    private mutating func count() throws(Malformed) -> (least: Int, most: Int?)? {
        if take("*") { return (0, nil) }
        if take("+") { return (1, nil) }
        if take("?") { return (0, 1) }
        guard rest.first == "{", let end = rest.firstIndex(of: "}") else { return nil }
        let sides = rest[(rest.startIndex + 1)..<end].split(separator: ",", omittingEmptySubsequences: false)
        let numbers = sides.map { side in Int(String(String.UnicodeScalarView(side))) }
        let isList = zip(sides, numbers).allSatisfy { $0.0.isEmpty || ($0.1 ?? -1) >= 0 && $0.0.allSatisfy { ("0"..."9").contains($0) } }
        guard isList, (1...2).contains(sides.count), sides.contains(where: { !$0.isEmpty }) else { return nil }
        rest = rest[(end + 1)...]
        let least = numbers[0] ?? 0
        let most = sides.count == 1 ? least : numbers[1]
        guard max(least, most ?? 0) <= Self.mostRepetitions else {
            throw Self.mistake("a part repeats at most \(Self.mostRepetitions) times")
        }
        guard most.map({ $0 >= least }) ?? true else { throw Self.mistake("{\(least),\(most ?? 0)}: the second number is the smaller one") }
        return (least, most)
    }

    private mutating func single() throws(Malformed) -> PatternTree {
        guard let next = rest.popFirst() else { return .empty }
        switch next {
        case ".": return .set(.all)
        case "^": return .check(.start)
        case "$": return .check(.end)
        case "[": return .set(cased(try bracket()))
        case "(": return try group()
        case "\\": return try escape()
        default: return .set(cased(ScalarSet([next.value...next.value])))
        }
    }

    private mutating func group() throws(Malformed) -> PatternTree {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.deepest else { throw Self.mistake("its brackets are nested more than \(Self.deepest) deep") }
        if take("?") { guard take(":") else { throw Self.mistake("of the groups (?, only (?: is supported, and (?i) at the beginning") } }
        let inner = try choice()
        guard take(")") else { throw Self.mistake("a closing bracket ) is missing") }
        return inner
    }

    private func cased(_ set: ScalarSet) -> ScalarSet { ignoresCase ? set.withBothCases : set }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard rest.first == scalar else { return false }
        rest.removeFirst()
        return true
    }

    // MARK: Characters

    private static let assertions: [Unicode.Scalar: LinearPattern.Assertion] = [
        "b": .boundary, "B": .inside, "<": .wordStart, ">": .wordEnd,
    ]

    private mutating func escape() throws(Malformed) -> PatternTree {
        guard let next = rest.popFirst() else { throw Self.mistake("a backslash stands at the end") }
        if let assertion = Self.assertions[next] { return .check(assertion) }
        return .set(cased(try Self.set(escaped: next)))
    }

    private static func set(escaped next: Unicode.Scalar) throws(Malformed) -> ScalarSet {
        switch next {
        case "d": return .digit
        case "D": return ScalarSet.digit.inverted
        case "w": return .word
        case "W": return ScalarSet.word.inverted
        case "s": return .space
        case "S": return ScalarSet.space.inverted
        case "t": return ScalarSet([0x09...0x09])
        case "0"..."9": throw mistake("back-references such as \\\(next) are not supported")
        case "a"..."z", "A"..."Z": throw mistake("the escape \\\(next) is not supported")
        default: return ScalarSet([next.value...next.value])
        }
    }

    /// A bracket expression after its `[`.
    private mutating func bracket() throws(Malformed) -> ScalarSet {
        let isNegated = take("^")
        var set = ScalarSet()
        var isFirst = true
        while true {
            guard let next = rest.popFirst() else { throw Self.mistake("a closing bracket ] is missing") }
            if next == "]", !isFirst { break }
            isFirst = false
            if next == "[", take(":") {
                set.formUnion(try characterClass())
                continue
            }
            if next == "\\", let escaped = rest.popFirst() {
                set.formUnion(try Self.set(escaped: escaped))
                continue
            }
            var last = next
            if rest.first == "-", let end = rest.dropFirst().first, end != "]" {
                rest = rest.dropFirst(2)
                last = end
            }
            guard next <= last else { throw Self.mistake("the range \(next)-\(last) ends before it begins") }
            set.insert(next.value...last.value)
        }
        // The cases belong to the characters that are excluded, too.
        return isNegated ? cased(set).inverted : set
    }

    private mutating func characterClass() throws(Malformed) -> ScalarSet {
        guard let end = rest.firstIndex(of: ":"), rest.index(after: end) < rest.endIndex, rest[rest.index(after: end)] == "]" else {
            throw Self.mistake("a class is written [:digit:]")
        }
        let name = String(String.UnicodeScalarView(rest[..<end]))
        rest = rest[(end + 2)...]
        guard let set = ScalarSet.classes[name] else {
            throw Self.mistake("the classes are \(ScalarSet.classes.keys.sorted().map { "[:\($0):]" }.joined(separator: ", "))")
        }
        return set
    }
}
