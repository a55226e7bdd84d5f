import Conformance
import Foundation
import TransportUSB

/// `results.json`: documented in docs/results.md.
public enum ResultsJSON {
    struct Document: Encodable {
        struct Summary: Encodable {
            var pass: Int
            var fail: Int
            var inconc: Int
            var na: Int
            var error: Int
        }

        struct Run: Encodable {
            var seed: SeedText
            var shuffle: SeedText?
            var tester: String
            var subject: String
            var interrupted: Bool
            var slackMilliseconds: Double?
            var devices: [DeviceReport]?
            var usb: USBTally?

            private enum CodingKeys: String, CodingKey {
                case seed, shuffle, tester, subject, interrupted, devices, usb
                case slackMilliseconds = "slack_ms"
            }
        }

        var format = 2
        var run: Run
        var summary: Summary
        var scorecard: [CommandScorecard.Row]?
        var cases: [CaseResult]
    }

    public static func text(_ result: RunResult) throws -> String {
        let document = Document(
            run: Document.Run(
                seed: SeedText(result.seed), shuffle: result.shuffle.map(SeedText.init), tester: result.tester, subject: result.subject,
                interrupted: result.isInterrupted, slackMilliseconds: result.slackMilliseconds,
                devices: result.devices.isEmpty ? nil : result.devices, usb: result.usb),
            summary: Document.Summary(
                pass: result.count(.pass), fail: result.count(.fail), inconc: result.count(.inconclusive), na: result.count(.notApplicable),
                error: result.count(.error)),
            scorecard: result.scorecard?.rows, cases: result.cases)
        return try encode(document)
    }

    /// Any value of the bench's in the style of its JSON files: sorted keys, two spaces, a final line feed.
    public static func encode(_ value: some Encodable, keys: JSONEncoder.KeyEncodingStrategy = .useDefaultKeys) throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = keys
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }
}
