import BBCapture
import Foundation
import Testing

@testable import BBDiagnosis

/// Captures of other people with a known cause, named by their size: they are not part of the package, and absent ones are skipped.
private struct Known: Sendable, CustomTestStringConvertible {
    var octets: Int
    /// The rules that must match; the first is the cause that must come first.
    var rules: [String]
    var packet: Int
    var testDescription: String { "\(octets) octets, \(rules[0])" }

    init(_ octets: Int, _ rules: String..., packet: Int) { (self.octets, self.rules, self.packet) = (octets, rules, packet) }
}

private let known = [
    Known(14_219, "key-size", packet: 41),
    Known(22_077, "encryption-before-pairing", packet: 169),
    Known(8_779, "encryption-before-pairing", packet: 58),
    Known(5_363, "length-mismatch", packet: 71),
    Known(5_119, "length-mismatch", packet: 68),
    Known(1_228, "connect-request-length", packet: 14),
    Known(51_156, "connect-request-hop", packet: 29),
    Known(14_564, "ediv-after-secure-connections", packet: 146),
    Known(64_004, "version-repeated", packet: 39),
    Known(11_256, "parameter-request-invalid", "ll-reject", packet: 144),
    Known(115_740, "mixed-pairing", "key-missing", packet: 955),
    Known(35_376, "update-repeated", packet: 508),
    Known(6_892, "connect-request-parameters", packet: 80),
    Known(459_476, "l2cap-malformed", packet: 5_291),
    Known(1_386, "connect-request-length", packet: 6),
    Known(3_236, "encryption-before-pairing", "key-negative-reply", "supervision-timeout", packet: 66),
    Known(1_219_343, "peer-restarted", packet: 514),
    Known(367_943, "page-timeout", "supervision-timeout", packet: 184),
    Known(34_772, "att-authorization", "establishment-failed", "slow-interval", packet: 287),
    Known(38_438, "update-refused", packet: 400),
    Known(31_845, "page-timeout", "establishment-failed", packet: 296),
    Known(14_623, "procedure-running", "att-refused", packet: 14),
    Known(14_298, "att-reserved-error", "att-refused", packet: 107),
    Known(29_243, "establishment-failed", packet: 265),
    Known(63_316, "establishment-failed", packet: 570),
    Known(4_761, "accepted-twice", packet: 41),
    Known(90_935, "page-timeout", packet: 580),
    Known(636_714, "connect-never-answered", packet: 1_433),
    Known(39_669, "confirm-missing", packet: 571),
    Known(65_595, "capture-gap", "mic-invalid", packet: 502),
]

/// Captures in which nothing went wrong.
private let healthy = [
    105_368, 57_728, 1_059_472, 61_351, 396_172, 28_757, 123_604, 39_797, 39_809, 15_374, 15_346, 57_078, 123_160, 5_938, 7_212, 6_404,
    1_704,
    46_178, 12_409, 16_611, 15_620, 22_208, 22_414, 17_873, 17_876, 68_056, 27_656, 2_670, 5_406, 214_500, 28_388,
]

private let library: [Int: String] = {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let usual = root.deletingLastPathComponent().appendingPathComponent("shared/captures").path
    let folder = ProcessInfo.processInfo.environment["BLUEBENCH_CAPTURES"] ?? usual
    var files: [Int: String] = [:]
    for case let name as String in FileManager.default.enumerator(atPath: folder) ?? .init() {
        let path = folder + "/" + name
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int, !name.hasSuffix(".tsv") else { continue }
        files[size] = path
    }
    return files
}()

private func diagnose(_ path: String) throws -> Diagnosis {
    var examiner = Examiner(rules: try DiagnosisRule.builtIn())
    let (records, failure) = try CaptureReader.readAll(path)
    for record in records { examiner.examine(record) }
    return examiner.finish(failure)
}

@Suite(.enabled(if: !library.isEmpty, "no captures of other tools at hand: set BLUEBENCH_CAPTURES"))
struct FieldDiagnosisTests {
    @Test(arguments: known.filter { library[$0.octets] != nil }) fileprivate func theCauseComesFirst(_ known: Known) throws {
        let diagnosis = try diagnose(try #require(library[known.octets]))
        let first = try #require(diagnosis.causes.first)
        #expect(first.rule.id == known.rules[0])
        #expect(first.packets.contains(known.packet), "\(first.packets)")
        for rule in known.rules { #expect(diagnosis.findings.contains { $0.rule.id == rule }, "\(rule)") }
    }

    @Test(arguments: healthy.filter { library[$0] != nil }) func nothingIsBlamedInHealthyCaptures(octets: Int) throws {
        let diagnosis = try diagnose(try #require(library[octets]))
        #expect(diagnosis.findings.filter { $0.rule.severity < .capture }.map(\.rule.id) == [])
    }
}
