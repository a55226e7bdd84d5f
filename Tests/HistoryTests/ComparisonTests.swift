import BBThroughput
import BBTiming
import Foundation
import Testing

@testable import BBHistory

struct ComparisonTests {
    /// A file with one row measured repeatedly, with normally distributed noise around a goodput.
    private static func results(_ goodput: Double, noise: Double, count: Int, _ random: inout RandomSource) throws -> ThroughputResults {
        let values = (0..<count).map { _ in goodput * (1 + noise / 100 * normal(&random)) }
        let list = values.map { "\($0)" }.joined(separator: ",")
        let median = RobustStatistics(values).median
        return try ThroughputResults(
            json: Data(Self.row(median, more: #", "repetitions": {"goodput_kbps": [\#(list)]}"#).utf8), name: "made")
    }

    private static func row(_ goodput: Double, mtu: Int = 247, more: String = "") -> String {
        """
        {"rows": [{"over": "notify", "direction": "from-subject", "phy": "2m", "data_length": 251, "mtu": \(mtu), "interval_ms": 15,
        "goodput_kbps": \(goodput), "ceiling_kbps": 1301.3\(more)}]}
        """
    }

    /// The sum of twelve uniform random numbers has a variance of 1.
    private static func normal(_ random: inout RandomSource) -> Double {
        (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &random) }
    }

    private static func compare(_ base: ThroughputResults, _ now: ThroughputResults) -> ThroughputComparison.Finding? {
        ThroughputComparison(base, now) { _ in .init() }.rows.first?.finding
    }

    @Test(arguments: [0.1, 0.3, 0.5]) func aDropOfThreePerCentIsFlaggedAndHalfAPerCentIsNot(noise: Double) throws {
        var random = RandomSource(seed: 20, label: "noise of \(noise)")
        for _ in 0..<50 {
            let base = try Self.results(1_200, noise: noise, count: 9, &random)
            let worse = try Self.results(1_200 * 0.97, noise: noise, count: 9, &random)
            let close = try Self.results(1_200 * 0.995, noise: noise, count: 9, &random)
            let finding = try #require(Self.compare(base, worse))
            #expect([.slower, .regression].contains(finding))
            #expect(Self.compare(base, close) == .same)
        }
    }

    /// A new goodput against 1,200 kbit/s, the machine's delay in ms of 1 s, and the finding.
    @Test(arguments: [
        (330.0, 400.0, ThroughputComparison.Finding.inconclusive), (330, 300, .regression), (1_100, 50, .inconclusive),
        (1_100, 0, .regression),
        (1_180, 10, .inconclusive), (1_250, 500, .better), (1_200, 500, .same),
    ])
    func aDropThatTheMachineExplainsIsInconclusive(_ goodput: Double, _ delay: Double, _ finding: ThroughputComparison.Finding) throws {
        let more = #", "machine_delay_ms": \#(delay), "window": {"begin_us": 0, "end_us": 1000000, "events": 66}"#
        let base = try ThroughputResults(json: Data(Self.row(1_200).utf8), name: "base")
        #expect(Self.compare(base, try ThroughputResults(json: Data(Self.row(goodput, more: more).utf8), name: "new")) == finding)
    }

    @Test func whatDiffersIsNamed() throws {
        func results(_ json: String) throws -> ThroughputResults { try ThroughputResults(json: Data(json.utf8), name: "made") }
        let base = try results(Self.row(1_200))
        for (json, finding) in [
            (Self.row(1_200), ThroughputComparison.Finding.same), (Self.row(1_180), .slower), (Self.row(1_100), .regression),
            (Self.row(1_250), .better), (Self.row(0, more: #", "failure": "nothing came""#), .broken),
        ] {
            #expect(Self.compare(base, try results(json)) == finding)
        }
        #expect(Self.compare(try results(Self.row(0, more: #", "failure": "nothing came""#)), base) == .repaired)
        let other = ThroughputComparison(base, try results(Self.row(900, mtu: 23))) { _ in .init() }
        #expect(other.rows.map(\.finding) == [.new, .vanished])
        #expect(other.table(all: false).markdown.contains("| notify from-subject 2m 251/23 15 ms | - | 900.0 | - | - | new |"))
    }

    /// Fields of a row with numbers that no measurement has.
    @Test(arguments: [
        "interval_ms", "data_length", "mtu", "mps", "channels", "bearers", "link", "links", "machine_delay_ms", "goodput_kbps",
        "ceiling_kbps", "begin_us", "end_us",
    ])
    func figuresOfSomebodyElseAreComparedOrRefused(_ name: String) throws {
        let row = #"""
            "over": "notify", "direction": "both", "phy": "2m", "data_length": 9, "mtu": 9, "interval_ms": 9, "mps": 9, "channels": 9,
            "bearers": 9, "link": 9, "links": 9, "machine_delay_ms": 9, "window": {"begin_us": 9, "end_us": 9}, "goodput_kbps": 9,
            "ceiling_kbps": 9, "repetitions": {"goodput_kbps": [9, 9]}
            """#
        func results(_ row: String) -> ThroughputResults? {
            try? ThroughputResults(json: Data("{\"rows\": [{\(row)}]}".utf8), name: "made")
        }
        let usual = try #require(results(row))
        for number in ["1e300", "-1e300", "1e308", "9223372036854775807", "-9223372036854775808", "5e-324", "0", "-1", "null"] {
            let text = row.replacing("\"\(name)\": 9", with: "\"\(name)\": \(number)")
            guard text != row, let odd = results(text) else { continue }
            for (base, now) in [(usual, odd), (odd, usual), (odd, odd)] {
                let comparison = ThroughputComparison(base, now) { _ in .init() }
                let figures = comparison.rows.flatMap { [$0.base, $0.now, $0.change, $0.band].compactMap(\.self) }
                #expect(figures.filter { !$0.isFinite }.isEmpty, "\(name) \(number)")
                #expect(!comparison.table(all: true).text.isEmpty)
            }
        }
    }

    /// The machine's delay in ms of a measurement from and to a time, and its part of it in percent.
    @Test(
        arguments: [
            (1e300, 0, 10, 100), (-1e300, 0, 10, 0), (1.0, Int64.min, .max, 0.0), (1, 10, 0, 0), (5, 0, 10_000, 50),
        ] as [(Double, Int64, Int64, Double)])
    func theMachinesPartIsAPercentage(_ delay: Double, _ begin: Int64, _ end: Int64, _ share: Double) throws {
        let more = #", "machine_delay_ms": \#(delay), "window": {"begin_us": \#(begin), "end_us": \#(end)}"#
        let row = try ThroughputResults(json: Data(Self.row(9, more: more).utf8), name: "made").rows[0]
        #expect(abs(row.machineShare - share) < 1e-9)
    }

    @Test func unlikeSetupsAreNamed() {
        var (base, now) = (ThroughputSetup(), ThroughputSetup())
        #expect(now.differences(from: base).isEmpty)
        (base.date, now.date) = ("2026-01-01", "2026-02-01")
        #expect(now.differences(from: base).isEmpty)
        (base.tester, now.tester) = ("usb:1-1", "virtual")
        (base.labels, now.labels) = (["antenna": "inside"], ["antenna": "outside"])
        #expect(now.differences(from: base) == ["tester: usb:1-1 then, virtual now", "label antenna: inside then, outside now"])
    }

    @Test(arguments: [
        ("", "", []),
        (#""date": "2026-01-01", "host": "a", "build": "1""#, #""date": "2026-02-01", "host": "b", "build": "2""#, []),
        (#""tester": "usb:1-1""#, #""tester": "virtual""#, ["tester: usb:1-1 then, virtual now"]),
        (dongle("0a12:0001", 10, "8891"), dongle("0a12:0001", 10, "8891"), []),
        (
            dongle("0a12:0001", 10, "8891"), dongle("0a12:0001", 10, "22bb"),
            ["the subject's firmware: \(image("8891")) then, \(image("22bb")) now"]
        ),
        (
            dongle("0a12:0001", 10, "8891"), dongle("0bda:8771", 93, "8891"),
            ["the subject's dongle: 0a12:0001, company 10 then, 0bda:8771, company 93 now"]
        ),
        (
            #""devices": []"#, dongle("0a12:0001", 10, "1"),
            ["the subject's dongle: unknown then, 0a12:0001, company 10 now", "the subject's firmware: unknown then, \(image("1")) now"]
        ),
    ])
    func unlikeRunsAreNamed(base: String, now: String, differences: [String]) throws {
        func run(_ fields: String) throws -> VerdictResults.Run {
            try #require(try VerdictResults(json: Data(#"{"run": {\#(fields)}, "cases": []}"#.utf8), name: "made").run)
        }
        let (then, now) = (try run(base), try run(now))
        #expect(now.differences(from: then) + now.changes(since: then) == differences)
    }

    private static func dongle(_ usb: String, _ company: Int, _ number: String) -> String {
        let numbers = #"{"usb": "\#(usb)", "company": \#(company), "hci_revision": "\#(number)", "lmp_subversion": "\#(number)"}"#
        return #""devices": [{"side": "subject", "device": "usb:1-2", "numbers": \#(numbers)}]"#
    }

    private static func image(_ number: String) -> String { "HCI revision \(number), LMP subversion \(number)" }

    @Test func verdicts() throws {
        func results(_ verdicts: [String: String]) throws -> VerdictResults {
            let cases = verdicts.sorted { $0.key < $1.key }.map { #"{"id": "\#($0.key)", "verdict": "\#($0.value)"}"# }
            return try VerdictResults(json: Data(#"{"cases": [\#(cases.joined(separator: ","))]}"#.utf8), name: "made")
        }
        let base = ["a": "PASS", "b": "PASS", "c": "FAIL", "d": "FAIL", "e": "INCONC", "gone": "PASS"]
        let now = ["a": "PASS", "b": "FAIL", "c": "PASS", "d": "ERROR", "e": "PASS", "f": "PASS", "g": "FAIL"]
        let comparison = VerdictComparison(try results(base), try results(now))
        let expected: [VerdictComparison.Finding] = [
            .same, .newlyFailing, .newlyPassing, .stillFailing, .changed, .new, .newlyFailing, .vanished,
        ]
        #expect(comparison.rows.map(\.finding) == expected)
        #expect(comparison.rows.map(\.id) == ["a", "b", "c", "d", "e", "f", "g", "gone"])
    }

    @Test(arguments: [
        ("no JSON", "made is not JSON"), (#"{"rows": [{"over": "notify"}]}"#, "made: rows.0: 'direction' is missing"),
        (#"{"rows": 7}"#, "made: rows: has another type than results have"),
    ])
    func aFileThatIsNoneIsRefused(json: String, text: String) {
        #expect { try ThroughputResults(json: Data(json.utf8), name: "made") } throws: { "\($0)" == text }
    }
}

struct RobustStatisticsTests {
    @Test(arguments: [
        ([Double](), 0.0, 0.0), ([3], 3, 0), ([1, 2], 1.5, 0.5), ([1, 2, 100], 2, 1), ([5, 1, 4, 2, 3], 3, 1), ([1, .nan, 3], 2, 1),
    ])
    func medianAndDeviation(values: [Double], median: Double, deviation: Double) {
        let figures = RobustStatistics(values)
        #expect(figures.median == median)
        #expect(figures.medianAbsoluteDeviation == deviation)
    }

    @Test(arguments: [(0.0, 10.0), (5, 12), (50, 30), (95, 48), (100, 50)])
    func percentiles(share: Double, value: Double) {
        #expect(abs(RobustStatistics([50, 40, 30, 20, 10]).percentile(share) - value) < 1e-9)
    }
}
