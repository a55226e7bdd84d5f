import BBPackets
import BBTiming
import Foundation
import Testing

@testable import BBCases
@testable import BBConformance

/// Case files with seeded damage: a case that `check` accepts ends with a verdict about the peer, within limits of time and memory.
struct MutatedCasesTests {
    /// All of them are checked; every fourth of the accepted ones is run, with `SOAK` set all.
    static let count = 1_000
    static let stride = ProcessInfo.processInfo.environment["SOAK"] == nil ? 4 : 1

    @Test func whatPassesTheCheckEndsInAVerdict() throws {
        let sources = try Sources()
        let memory = Self.residentBytes()
        var random = RandomSource(seed: 7)
        var passed = 0
        for number in 0..<Self.count {
            let text = Damage.applied(to: sources.text(number), using: &random)
            guard var testCase = sources.check(text) else { continue }
            passed += 1
            guard passed % Self.stride == 0 else { continue }
            testCase.limits = Limits(step: min(testCase.limits.step, .seconds(2)), run: min(testCase.limits.run, .seconds(20)))
            let began = Self.processorTime()
            let result = try sources.run(testCase)
            #expect(!result.cases.contains { $0.verdict == .error }, "\(number): \(result.cases.map(\.message))\n\(text)")
            #expect(Self.processorTime() - began < .seconds(20), "\(number) takes too long\n\(text)")
        }
        #expect(passed > Self.count / 20, "the damage leaves some cases whole")
        #expect(passed < Self.count * 9 / 10, "the damage is seen")
        #expect(Self.residentBytes() - memory < 500_000_000, "memory grows")
    }

    /// Processor time of this thread, on which the loop of a case runs.
    private static func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func residentBytes() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4_096
    }
}

/// The project's cases as text, with the procedures they use.
private struct Sources {
    let catalogue: Catalogue
    let vocabulary: Vocabulary
    private let texts: [String]

    init() throws {
        vocabulary = .declared(covers: nil)
        catalogue = try Catalogue.load(SuiteTests.folder, vocabulary: vocabulary)
        let files = Catalogue.yamlFiles(below: SuiteTests.folder).filter { file in
            file.contains("/") && !Catalogue.reserved.contains { file.hasPrefix($0 + "/") }
        }
        texts = try files.map { try String(contentsOfFile: SuiteTests.folder + "/" + $0, encoding: .utf8) }
    }

    func text(_ number: Int) -> String { texts[number * 7 % texts.count] }

    /// The first round of the case; nil if it has errors.
    func check(_ text: String) -> TestCase? {
        var reader = SourceReader(file: SuiteTests.folder + "/phy/damaged.yaml", vocabulary: vocabulary)
        reader.signatures = catalogue.procedures.mapValues(\.parameters)
        var constants = SourceReader(file: SuiteTests.folder + "/constants.yaml", vocabulary: vocabulary)
        if let root = constants.compose(), let keys = constants.keys(root, of: "the constants") {
            for entry in keys.entries { reader.constants[entry.name] = entry.node }
        }
        guard let root = reader.compose(text), let testCase = reader.testCase(root, id: "phy/damaged"), reader.problems.isEmpty else {
            return nil
        }
        let problems = CaseCheck.problems(of: testCase, ProcedureTable(catalogue.procedures), vocabulary)
        return problems.isEmpty ? testCase.unrolled.first : nil
    }

    func run(_ testCase: TestCase) throws -> RunResult {
        let catalogue = Catalogue(cases: [testCase], procedures: catalogue.procedures)
        let plan = try RunPlan(catalogue: catalogue, setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1), filters: [])
        return try Runner(plan, recorder: try Recorder(path: nil)).run()
    }
}

/// One to three changes of lines, values and keys.
private enum Damage {
    static let values = [
        "9223372036854775807", "-9223372036854775808", "-1", "0", "1", "255", "256", "65535", "65536", "10000", "4294967296", "[]", "{}",
        "\"\"",
        "\"0G 1\"", "$link", "$link.hande", "true", "~", "[1, 2, 3]", "{any: true}", "{range: [5, 1]}",
        "{near: 9223372036854775807, tolerance: 9}",
        "{octet: 1, times: 65535}", "0 s", "1 us", "60 min", "100000 connection events", "1000 advertising events", "tester", "subject",
        "Success",
        "&a [*a]", "*a", "{uint32: {atLeast: 1}, at: 65535}",
    ]
    static let lines = [
        "  - {wait: 59 min}", "  - {mark: x}", "  - {repeat: 10000, steps: [{mark: y}]}", "  - {use: connected}", "  - {parallel: []}",
        "  - {until: Disconnection_Complete, as: tester, atMost: 10000, steps: [{wait: 1 us}]}", "  - {send: Reset, as: subject}",
        "  - {repeat: 1000, steps: [{repeat: 1000, steps: [{wait: 1 us}]}]}", "  - {use: advertise, as: tester, with: {interval: 32}}",
        "    when: virtual", "    limit: 60 min", "    saveAs: link", "    since: start",
    ]

    static func applied(to text: String, using random: inout RandomSource) -> String {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for _ in 0...Int.random(in: 0...2, using: &random) { change(&lines, &random) }
        return lines.joined(separator: "\n")
    }

    private static func change(_ lines: inout [String], _ random: inout RandomSource) {
        guard !lines.isEmpty else { return }
        let at = Int.random(in: 0..<lines.count, using: &random)
        switch Int.random(in: 0...6, using: &random) {
        case 0: lines.remove(at: at)
        case 1: lines.insert(lines[at], at: at)
        case 2: lines.swapAt(at, Int.random(in: 0..<lines.count, using: &random))
        case 3: lines.insert(Self.lines.randomElement(using: &random) ?? "", at: at)
        case 4: lines[at] = valueChanged(lines[at], to: numberLike(&random))
        default: lines[at] = valueChanged(lines[at], to: values.randomElement(using: &random) ?? "")
        }
    }

    private static func numberLike(_ random: inout RandomSource) -> String { "\(Int.random(in: -3...70_000, using: &random))" }

    /// Replaces one value of the line, `name: value`.
    private static func valueChanged(_ line: String, to value: String) -> String {
        var parts = line.components(separatedBy: ": ")
        guard parts.count > 1 else { return line }
        let last = parts.count - 1
        let rest = parts[last].drop { !",}]".contains($0) }
        parts[last] = value + rest
        return parts.joined(separator: ": ")
    }
}
