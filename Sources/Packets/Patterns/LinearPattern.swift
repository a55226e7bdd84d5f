/// A regular expression for text from outside, with bounded memory and a time linear in the text: the automaton is simulated as a set of
/// places, so that nothing is tried twice. There are no back-references, for which no such bound exists.
///
/// Syntax: POSIX extended regular expressions, `(?:`, `(?i)` at the beginning, and the escapes `\d \w \s \D \W \S \b \B \< \> \t`.
public struct LinearPattern: Sendable {
    /// A mistake in an expression.
    public struct Malformed: Error, Sendable, Equatable, CustomStringConvertible {
        public var description: String
    }

    /// Maximum length of an expression in octets.
    public static let longest = 1_000
    /// Maximum number of instructions of the automaton: the memory of a search, and its time for each character.
    public static let mostInstructions = 2_000

    enum Instruction: Sendable {
        case consume(ScalarSet)
        /// Continues at the next instruction, and at this one.
        case split(Int)
        case jump(Int)
        case check(Assertion)
        case match
    }

    enum Assertion: Sendable, Hashable {
        case start, end, boundary, inside, wordStart, wordEnd
    }

    private let program: [Instruction]
    /// The characters with which a match can begin; nil if it can be empty.
    private let first: ScalarSet?

    public init(_ text: String) throws(Malformed) {
        let tree = try PatternParser.tree(of: text)
        guard tree.size < Self.mostInstructions else {
            throw Malformed(description: "it is too large: its repetitions need more than \(Self.mostInstructions) states")
        }
        var program: [Instruction] = []
        tree.emit(into: &program)
        program.append(.match)
        self.program = program
        first = Self.first(of: program)
    }

    /// True if a part of the text, UTF-8, matches.
    public func matches(_ text: ArraySlice<UInt8>) -> Bool {
        if text.allSatisfy({ $0 < 0x80 }) { return search(text.lazy.map { UInt32($0) }) }
        return search(Array(String(decoding: text, as: UTF8.self).unicodeScalars.lazy.map(\.value)))
    }

    public func matches(_ text: String) -> Bool { matches(Array(text.utf8)[...]) }

    // MARK: Search

    /// The places that a search has reached at one position.
    private struct Places {
        var list: [Int] = []
        /// Number of the position at which an instruction was reached last.
        var reached: [Int]
        var stack: [Int] = []
    }

    private func search(_ text: some RandomAccessCollection<UInt32>) -> Bool {
        var places = Places(reached: Array(repeating: -1, count: program.count))
        var waiting: [Int] = []
        var before: UInt32?
        var number = 0
        for scalar in text {
            defer {
                before = scalar
                number += 1
            }
            if waiting.isEmpty, let first, !first.contains(scalar) { continue }
            places.list.removeAll(keepingCapacity: true)
            for place in waiting where reach(place, &places, number, before, scalar) { return true }
            if reach(0, &places, number, before, scalar) { return true }
            waiting.removeAll(keepingCapacity: true)
            for place in places.list {
                if case .consume(let set) = program[place], set.contains(scalar) { waiting.append(place + 1) }
            }
        }
        for place in waiting where reach(place, &places, number, before, nil) { return true }
        return reach(0, &places, number, before, nil)
    }

    /// Follows the instructions that consume nothing; true if the pattern has matched.
    private func reach(_ start: Int, _ places: inout Places, _ number: Int, _ before: UInt32?, _ after: UInt32?) -> Bool {
        places.stack.append(start)
        while let place = places.stack.popLast() {
            if places.reached[place] == number { continue }
            places.reached[place] = number
            switch program[place] {
            case .consume: places.list.append(place)
            case .split(let other):
                places.stack.append(other)
                places.stack.append(place + 1)
            case .jump(let other): places.stack.append(other)
            case .check(let assertion): if Self.holds(assertion, before, after) { places.stack.append(place + 1) }
            case .match:
                places.stack.removeAll(keepingCapacity: true)
                return true
            }
        }
        return false
    }

    private static func holds(_ assertion: Assertion, _ before: UInt32?, _ after: UInt32?) -> Bool {
        let (left, right) = (before.map(ScalarSet.word.contains) ?? false, after.map(ScalarSet.word.contains) ?? false)
        return switch assertion {
        case .start: before == nil
        case .end: after == nil
        case .boundary: left != right
        case .inside: left == right
        case .wordStart: !left && right
        case .wordEnd: left && !right
        }
    }

    private static func first(of program: [Instruction]) -> ScalarSet? {
        var (stack, seen, first) = ([0], Set<Int>(), ScalarSet())
        while let place = stack.popLast() {
            guard seen.insert(place).inserted else { continue }
            switch program[place] {
            case .consume(let set): first.formUnion(set)
            case .split(let other): stack += [other, place + 1]
            case .jump(let other): stack.append(other)
            case .check: stack.append(place + 1)
            case .match: return nil
            }
        }
        return first
    }
}
