/// A set of Unicode scalars: a bitmap for ASCII, ranges for the others.
struct ScalarSet: Sendable, Equatable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    private var others: [ClosedRange<UInt32>] = []

    static let highest: UInt32 = 0x10_FFFF
    static let digit = ScalarSet([0x30...0x39])
    static let letter = ScalarSet([0x41...0x5A, 0x61...0x7A])
    static let word = digit.union(letter).union(ScalarSet([0x5F...0x5F]))
    static let space = ScalarSet([0x09...0x0D, 0x20...0x20])
    static let all = ScalarSet([0...highest])

    /// The classes of POSIX, Base Definitions, 9.3.5.
    static let classes: [String: ScalarSet] = [
        "alpha": letter, "digit": digit, "alnum": digit.union(letter), "space": space, "upper": ScalarSet([0x41...0x5A]),
        "lower": ScalarSet([0x61...0x7A]), "xdigit": ScalarSet([0x30...0x39, 0x41...0x46, 0x61...0x66]),
        "blank": ScalarSet([0x09...0x09, 0x20...0x20]), "cntrl": ScalarSet([0...0x1F, 0x7F...0x7F]), "print": ScalarSet([0x20...0x7E]),
        "graph": ScalarSet([0x21...0x7E]), "punct": ScalarSet([0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E]),
    ]

    init(_ ranges: [ClosedRange<UInt32>] = []) {
        for range in ranges { insert(range) }
    }

    func contains(_ scalar: UInt32) -> Bool {
        if scalar < 64 { return low >> scalar & 1 == 1 }
        if scalar < 128 { return high >> (scalar - 64) & 1 == 1 }
        return others.contains { $0.contains(scalar) }
    }

    mutating func insert(_ range: ClosedRange<UInt32>) {
        for scalar in range.clamped(to: 0...127) where range.contains(scalar) {
            if scalar < 64 { low |= 1 << UInt64(scalar) } else { high |= 1 << UInt64(scalar - 64) }
        }
        if range.upperBound >= 128 { others.append(max(range.lowerBound, 128)...range.upperBound) }
    }

    mutating func formUnion(_ set: ScalarSet) {
        low |= set.low
        high |= set.high
        others += set.others
    }

    func union(_ set: ScalarSet) -> ScalarSet {
        var all = self
        all.formUnion(set)
        return all
    }

    var inverted: ScalarSet {
        var rest = ScalarSet()
        (rest.low, rest.high) = (~low, ~high)
        var next: UInt32 = 128
        for range in others.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > next { rest.others.append(next...(range.lowerBound - 1)) }
            next = max(next, range.upperBound + 1)
        }
        if next <= Self.highest { rest.others.append(next...Self.highest) }
        return rest
    }

    /// The set with both cases of its ASCII letters.
    var withBothCases: ScalarSet {
        var both = self
        let letters: UInt64 = 0x07FF_FFFE
        both.high |= (high & letters) << 32 | (high >> 32) & letters
        return both
    }
}
