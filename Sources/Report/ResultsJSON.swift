import BBConformance
import BBThroughput
import BBTransport
import Foundation

/// `results.json`: documented in docs/guide/results.md.
public enum ResultsJSON {
    struct Document: Codable {
        struct Summary: Codable {
            var pass: Int
            var fail: Int
            var inconc: Int
            var na: Int
            var error: Int
            var flaky: Int?
            var notRun: Int?

            private enum CodingKeys: String, CodingKey {
                case pass, fail, inconc, na, error, flaky
                case notRun = "not_run"
            }

            init(_ cases: [CaseResult]) {
                func count(_ verdict: Verdict) -> Int { cases.count { $0.verdict == verdict } }
                (pass, fail, na, error) = (count(.pass), count(.fail), count(.notApplicable), count(.error))
                inconc = count(.inconclusive)
                (flaky, notRun) = (Self.some(cases.count(where: \.isFlaky)), Self.some(cases.count(where: \.isNotRun)))
            }

            /// The number of cases; flaky cases and those that have not run have a verdict, too.
            var count: Int { [pass, fail, inconc, na, error].reduce(0) { $0.addingReportingOverflow($1).partialValue } }

            private static func some(_ count: Int) -> Int? { count == 0 ? nil : count }
        }

        struct Run: Codable {
            var seed: SeedText
            var shuffle: SeedText?
            var tester: String
            var subject: String
            var interrupted: Bool
            var ending: String?
            var shard: String?
            var selection: RunSelection?
            var missingShards: [Int]?
            var failsOnFlaky: Bool?
            var expectedFailures: [ExpectedFailure]?
            var slackMilliseconds: Double?
            var devices: [DeviceReport]?
            var usb: USBTally?
            var date: String?
            var host: String?
            var build: String?
            var arguments: [String]?
            var options: [GivenOption]?
            var product: ProductReport?
            var labels: [String: String]?

            private enum CodingKeys: String, CodingKey {
                case seed, shuffle, tester, subject, interrupted, ending, shard, selection, devices, usb, date, host, build, arguments,
                    options, product, labels
                case slackMilliseconds = "slack_ms"
                case missingShards = "missing_shards"
                case failsOnFlaky = "fail_on_flaky"
                case expectedFailures = "expected_failures"
            }

            init(_ result: RunResult, _ facts: RunFacts) {
                (seed, shuffle) = (SeedText(result.seed), result.shuffle.map(SeedText.init))
                (tester, subject, interrupted) = (result.tester, result.subject, result.isInterrupted)
                (ending, shard, slackMilliseconds) = (result.ending, result.shard, result.slackMilliseconds)
                selection = result.selection
                missingShards = result.missingShards.isEmpty ? nil : result.missingShards
                failsOnFlaky = result.failsOnFlaky ? true : nil
                expectedFailures = result.expectedFailures.isEmpty ? nil : result.expectedFailures
                (devices, usb) = (result.devices.isEmpty ? nil : result.devices, result.usb)
                func some(_ text: String) -> String? { text.isEmpty ? nil : text }
                (date, host, build) = (some(facts.date), some(facts.host), some(facts.version))
                arguments = facts.arguments.isEmpty ? nil : facts.arguments
                options = facts.options.isEmpty ? nil : facts.options
                (product, labels) = (result.product, result.labels.isEmpty ? nil : result.labels)
            }
        }

        var format = 3
        var run: Run
        var summary: Summary
        var scorecard: [CommandScorecard.Row]?
        var cases: [CaseResult]?

        init(_ result: RunResult, _ facts: RunFacts) {
            (run, summary, cases) = (Run(result, facts), Summary(result.cases), result.cases)
            scorecard = result.scorecard?.rows
        }
    }

    public static func text(_ result: RunResult, about facts: RunFacts = RunFacts()) throws -> String {
        try encode(Document(result, facts))
    }

    /// The document with the number of cases instead of the cases.
    static func frame(of run: RunResult, _ cases: [CaseResult], _ facts: RunFacts) throws -> String {
        var document = Document(run, facts)
        (document.summary, document.cases) = (Document.Summary(cases), nil)
        return try encode(document)
    }

    /// Reads a file written by `text`, in this or an earlier format version.
    ///
    /// - Throws: `DecodingError`, or `CutResults` if the summary counts other cases than the file has.
    public static func read(_ data: Data) throws -> (result: RunResult, facts: RunFacts) {
        let document = try JSONDecoder().decode(Document.self, from: data)
        guard let cases = document.cases else { throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no cases")) }
        guard document.summary.count == cases.count else { throw CutResults(counted: document.summary.count, found: cases.count) }
        let run = document.run
        var result = RunResult(seed: run.seed.value, shuffle: run.shuffle?.value, tester: run.tester, subject: run.subject)
        (result.cases, result.isInterrupted, result.ending) = (cases, run.interrupted, run.ending)
        (result.shard, result.slackMilliseconds) = (run.shard, run.slackMilliseconds)
        result.selection = run.selection
        (result.missingShards, result.failsOnFlaky) = (run.missingShards ?? [], run.failsOnFlaky ?? false)
        (result.devices, result.usb) = (run.devices ?? [], run.usb)
        result.expectedFailures = run.expectedFailures ?? []
        (result.product, result.labels) = (run.product, run.labels ?? [:])
        var facts = RunFacts()
        (facts.date, facts.host, facts.version) = (run.date ?? "", run.host ?? "", run.build ?? "")
        (facts.arguments, facts.options) = (run.arguments ?? [], run.options ?? [])
        return (result, facts)
    }

    /// Encodes a value in the style of the bench's JSON files: sorted keys, two spaces, a final line feed.
    public static func encode(_ value: some Encodable, keys: JSONEncoder.KeyEncodingStrategy = .useDefaultKeys) throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = keys
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }
}

/// Results whose cases were removed or added after the run.
public struct CutResults: Error, CustomStringConvertible {
    public var counted: Int
    public var found: Int

    public var description: String {
        "`summary` counts \(counted) \(counted == 1 ? "case" : "cases"), but `cases` has \(found): the file was changed or cut after the run"
    }
}
