import BBPackets
import Testing

/// Regular expressions against text, with the bounds that text from outside needs.
@Suite struct LinearPatternTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var pattern: String
        var fits: [String]
        var fails: [String]
        var testDescription: String { pattern }

        init(_ pattern: String, _ fits: [String], not fails: [String] = []) {
            (self.pattern, self.fits, self.fails) = (pattern, fits, fails)
        }
    }

    static let rows = [
        Row("", ["", "a"]),
        Row("abc", ["abc", "xabcx"], not: ["ab", "acb", "ABC"]),
        Row("^ab$", ["ab"], not: ["xab", "abx"]),
        Row("a.c", ["abc", "a\u{E4}c"], not: ["ac"]),
        Row("a*b+c?d", ["bd", "aabbcd"], not: ["acd"]),
        Row("x(ab|cd|)y", ["xaby", "xcdy", "xy"], not: ["xacy"]),
        Row("(a|b)*c$", ["ababc", "c"], not: ["ab"]),
        Row("^a{2}$", ["aa"], not: ["a", "aaa"]),
        Row("^a{1,3}$", ["a", "aaa"], not: ["", "aaaa"]),
        Row("^a{2,}$", ["aa", "aaaaa"], not: ["a"]),
        Row("^a{,2}$", ["", "aa"], not: ["aaa"]),
        Row("a{x", ["a{x"]),
        Row("{}", ["{}"]),
        // Neither nesting nor repetitions of nothing cost time.
        Row("^" + String(repeating: "(", count: 45) + "a" + String(repeating: ")?", count: 45) + "$", ["", "a"], not: ["aa"]),
        Row("^((((){200}){1000}){1000}){1000}(a{0}){1000}$", [""], not: ["a"]),
        Row("[a-c]+[^a-c]", ["abcd"], not: ["abc"]),
        Row("[]x]", ["]", "x"], not: ["["]),
        Row("[^]x]", ["a"], not: ["]", "x"]),
        Row("[a-]", ["-"], not: ["b"]),
        Row("^[[:xdigit:]]+$", ["0aF"], not: ["0g"]),
        Row("^[\\d.]+$", ["1.2"], not: ["1,2"]),
        Row("\\d\\D\\w\\W\\s\\S", ["1a_- x"], not: ["1a_-xx"]),
        Row("\\bcat\\b", ["a cat."], not: ["concat", "cats"]),
        Row("\\<cat\\>", ["the cat"], not: ["cats"]),
        Row("a\\Bb", ["ab"], not: ["a b"]),
        Row("\\*\\*\\* Booting ", ["*** Booting x"]),
        Row("\\(\\[\\{\\.\\\\", ["([{.\\"]),
        Row("(?i)bOOt", ["BOOT", "boot"], not: ["boo"]),
        Row("(?i)[^a]", ["b"], not: ["a", "A"]),
        Row("(?:ab)+$", ["abab"], not: ["aba"]),
        Row("[\u{E4}-\u{FC}]", ["\u{F6}"], not: ["a"]),
        Row("[^\u{E4}]", ["\u{F6}"], not: ["\u{E4}"]),
        Row("(a*)*b", ["b", "aab"], not: ["aa"]),
        Row("((a|b)+|c)*d", ["abcd"], not: ["abc"]),
        Row("x^", [], not: ["x"]),
        Row("$x", [], not: ["x"]),
    ]

    @Test(arguments: rows) func aPatternFitsItsTexts(_ row: Row) throws {
        let pattern = try LinearPattern(row.pattern)
        for text in row.fits { #expect(pattern.matches(text), "'\(text)'") }
        for text in row.fails { #expect(!pattern.matches(text), "'\(text)'") }
    }

    @Test(arguments: [
        ("(", "missing"), (")", "without"), ("[", "missing"), ("[z-a]", "ends before"), ("*", "nothing stands"), ("a|+", "nothing stands"),
        ("a**", "side by side"), ("(a)\\1", "back-references"), ("\\p", "not supported"), ("\\", "at the end"), ("(?=a)", "(?:"),
        ("a{3,2}", "smaller"), ("a{1,5000}", "at most"), ("[[:foo:]]", "[:digit:]"), (String(repeating: "a", count: 1_001), "octets"),
        (String(repeating: "(", count: 60), "nested"), ("((((a{1,250}){1,250}){1,250}){1,250})", "too large"),
        ("(.{999}){999}", "too large"),
        ("((x{1000}){1000}){1000}", "too large"),
    ]) func aMistakeIsNamed(pattern: String, words: String) {
        let error = #expect(throws: LinearPattern.Malformed.self) { try LinearPattern(pattern) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    /// Patterns on which a matcher that tries one way after another takes a time that doubles with each character: they would not end here.
    @Test(arguments: ["(a+)+$", "^(a*)*$", "(a|aa)+$", "^(a|a?)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*x"])
    func theTimeIsLinear(_ pattern: String) throws {
        #expect(try !LinearPattern(pattern).matches(String(repeating: "a", count: 20_000) + "!"))
    }

    @Test func octetsThatAreNoTextAreSearched() throws {
        #expect(try LinearPattern("b$").matches([0xFF, 0xC3, 0x62][...]))
    }
}
