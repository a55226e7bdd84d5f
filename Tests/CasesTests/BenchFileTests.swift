import Testing

@testable import BBCases

/// `bench.yaml`: its entries, its mistakes with their places, and what a command line leaves of it.
struct BenchFileTests {
    private static let kinds: [String: BenchFile.Kind] = [
        "tester": .text, "slack": .number, "swap": .truth, "label": .list, "known-dongles": .path, "firmware": .path, "before-case": .text,
    ]

    private static func read(_ text: String, _ file: String = "bench.yaml") -> Result<BenchFile, Problems> {
        Result { () throws(Problems) in try BenchFile.read(text: text, file: file, kinds: kinds) }
    }

    @Test func entriesBecomeArguments() throws {
        let text = """
            tester: usb:0a12:0001
            slack: 150          # ms
            swap: true
            label: [desk=3, room=lab]
            before-case: --not-an-option "$BLUEBENCH_CASE"
            """
        let file = try Self.read(text).get()
        #expect(
            file.entries.flatMap(\.arguments) == [
                "--tester=usb:0a12:0001", "--slack=150", "--swap", "--label=desk=3", "--label=room=lab",
                "--before-case=--not-an-option \"$BLUEBENCH_CASE\"",
            ])
        #expect(file.entries.map(\.text) == ["usb:0a12:0001", "150", nil, "desk=3, room=lab", "--not-an-option \"$BLUEBENCH_CASE\""])
        #expect(file.entries.map(\.position.line) == [1, 2, 3, 4, 5])
    }

    static let places: [(file: String, path: String, expected: String)] = [
        ("bench.yaml", "ours.yaml", "ours.yaml"), ("../desk/bench.yaml", "ours.yaml", "../desk/ours.yaml"),
        ("/etc/bench.yaml", "fw/a.yaml", "/etc/fw/a.yaml"), ("/etc/bench.yaml", "/fw/a.yaml", "/fw/a.yaml"),
        ("/etc/bench.yaml", "none", "none"),
    ]

    @Test(arguments: places) func aPathBeginsAtTheFile(_ file: String, _ path: String, _ expected: String) throws {
        #expect(try Self.read("firmware: \(path)", file).get().entries.map(\.values) == [[expected]] as [[String]?])
    }

    static let mistakes: [(String, String)] = [
        ("tester: virtual\nslak: 5", "bench.yaml:2:1: unknown option 'slak'; did you mean slack?"),
        ("--slak: 5", "bench.yaml:1:1: unknown option '--slak'; did you mean slack?"),
        ("slack: often", "bench.yaml:1:8: slack is a number, not 'often'"),
        ("slack: [1, 2]", "bench.yaml:1:8: slack must be a line of text"),
        ("swap: maybe", "bench.yaml:1:7: swap is true or false, not 'maybe'"),
        ("tester: {usb: 1}", "bench.yaml:1:9: tester must be a line of text"), ("tester:", "bench.yaml:1:8: tester is empty"),
        ("label: []", "label is empty"), ("label: [{a: b}]", "an element of label must be a line of text"),
        ("- tester", "bench.yaml:1:1: the options of a bench must be a set of `name: value` lines"),
        ("", "bench.yaml:1:1: the file is empty"),
        ("tester: a\ntester: b", "the same name twice: tester"), ("\ttester: a", "a tab; lines are indented with spaces"),
    ]

    @Test(arguments: mistakes) func aMistakeIsRefusedWithItsPlace(_ text: String, _ expected: String) {
        guard case .failure(let problems) = Self.read(text) else { return #expect(Bool(false), "it was read") }
        #expect(problems.list.contains { $0.description.contains(expected) }, "\(problems)")
    }

    /// The options of the command, those on its command line, and what is left of a file with all.
    static let commands: [(options: Set<String>, given: Set<String>, left: [String])] = [
        (["tester", "slack", "swap"], [], ["tester", "slack", "swap"]), (["tester", "slack", "swap"], ["slack"], ["tester", "swap"]),
        (["tester", "slack"], ["subject-port"], ["slack"]), (["seconds"], [], []), (["label"], ["label"], []),
        (["label"], ["slack"], ["label"]),
    ]

    @Test(arguments: commands) func theCommandLineWins(_ options: Set<String>, _ given: Set<String>, _ left: [String]) throws {
        let file = try Self.read("tester: a\nslack: 1\nswap: true\nlabel: x=y").get()
        let entries = file.entries(for: options, given: given, exclusions: ["tester": ["subject-port"]])
        #expect(entries.map(\.name) == left)
    }

    /// No text of a value is taken for a flag.
    @Test func aValueIsNoFlag() throws {
        #expect(try Self.read("before-case: 'true '").get().entries.flatMap(\.arguments) == ["--before-case=true "])
    }

    @Test func aFlagThatIsFalseIsNotPassed() throws {
        let file = try Self.read("swap: false").get()
        #expect(file.entries.flatMap(\.arguments).isEmpty && file.entries(for: ["swap"], given: []).isEmpty)
    }
}
