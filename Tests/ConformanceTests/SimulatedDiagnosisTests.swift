import BBCapture
import BBCases
import BBConformance
import BBTiming
import Foundation
import Testing

@testable import BBDiagnosis

/// A case that is run against a mutant.
private struct Simulated: Sendable, CustomTestStringConvertible {
    var mutant: String?
    var testCase: String
    /// The rule that must come first; nil if nothing is wrong.
    var rule: String?
    var testDescription: String { "\(mutant ?? "no mutant") in \(testCase)" }

    init(_ mutant: String?, _ testCase: String, _ rule: String? = nil) {
        (self.mutant, self.testCase, self.rule) = (mutant, testCase, rule)
    }
}

private let simulated = [
    Simulated("mtu-unanswered", "gatt/mtu-exchange", "att-unanswered"),
    Simulated("write-unanswered", "gatt/write", "att-unanswered"),
    Simulated("request-unanswered", "gatt/read", "att-unanswered"),
    Simulated("never-confirms", "gatt/confirms-indication", "att-unanswered"),
    Simulated("read-answered-twice", "gatt/one-answer", "att-unrequested"),
    Simulated("mtu-refused", "gatt/mtu-exchange", "att-refused"),
    Simulated("key-size-impossible", "smp-negative/key-size-above-range", "key-size"),
    Simulated("refusal-unsent", "encryption/no-key-peripheral", "key-negative-reply"),
    Simulated("update-instant-past", "gap-params/subject-updates", "instant-passed"),
    Simulated("phy-instant-past", "phy/reported-in-time", "instant-passed"),
    Simulated("map-instant-past", "gap-params/map-on-air", "instant-passed"),
    Simulated("long-term-key-zero", "smp-legacy/keys-are-distributed[key=encryption]", "zero-key"),
    Simulated("collision-ends-link", "collisions/central-map[other=phy]", "procedures-collided"),
    Simulated("collision-always-same", "collisions/central-phy-parameters", "procedures-met"),
    Simulated("peripheral-rejects-parameters", "collisions/peripheral-phy-parameters", "response-timeout"),
    Simulated("asks-for-wrong-parameters", "gatt/parameter-request", "parameter-request-timeout"),
    Simulated(nil, "gap-conn/supervision[side=peripheral]", "supervision-timeout"),
    Simulated(nil, "encryption/wrong-key-peripheral", "mic-failure"),
    Simulated(nil, "encryption/no-key-peripheral", "key-negative-reply"),
    Simulated(nil, "smp-negative/check-wrong", "pairing-failed"),
    Simulated(nil, "collisions/central-map[other=phy]", "procedures-met"),
    Simulated(nil, "gatt/error[request=read-not-permitted]", "use-not-declared"),
    Simulated(nil, "gatt-security/read[level=authenticated]", "att-security"),
    Simulated(nil, "phy/central-asks-2m"), Simulated(nil, "gatt/read"), Simulated(nil, "gatt/mtu-exchange"),
    Simulated(nil, "gap-conn/answers-version[side=peripheral]"), Simulated(nil, "smp-legacy/keys-are-distributed[key=encryption]"),
    Simulated(nil, "gap-params/subject-updates"),
    Simulated(nil, "gap-conn/data-both-ways"), Simulated(nil, "dle/legal-answer"),
]

private let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Conformance").path
private let vocabulary = Vocabulary.declared(covers: nil)
private let suites = Result { try Catalogue.load(folder, vocabulary: vocabulary) }
private let mutants = Result { try Mutant.load(folder + "/mutants", catalogue: try suites.get(), vocabulary: vocabulary) }

@Suite struct SimulatedDiagnosisTests {
    @Test(arguments: simulated) fileprivate func theMutantsFaultComesFirst(_ simulated: Simulated) throws {
        let fault = try simulated.mutant.map { id in try #require(mutants.get().first { $0.id == id }).fault }
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("explain-\(UUID().uuidString).pcapng").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let plan = try RunPlan(
            catalogue: try suites.get(), setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1), filters: [simulated.testCase])
        let recorder = try Recorder(path: path, hasAir: true)
        _ = try Runner(plan, recorder: recorder, fault: fault ?? Fault()).run()
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        let (records, failure) = try CaptureReader.readAll(path)
        for record in records { examiner.examine(record) }
        let causes = examiner.finish(failure).causes
        #expect(causes.first?.rule.id == simulated.rule)
        if simulated.rule == nil { #expect(causes.isEmpty) }
    }

    /// Nobody is accused in a healthy capture, wherever it is cut, with its keys blanked as in a report.
    @Test(arguments: simulated.filter { $0.mutant == nil && $0.rule == nil }) fileprivate func cutsOfAHealthyCaptureAccuseNobody(
        _ simulated: Simulated
    ) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("healthy-\(UUID().uuidString).pcapng").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let plan = try RunPlan(
            catalogue: try suites.get(), setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1), filters: [simulated.testCase])
        let recorder = try Recorder(path: path, hasAir: true)
        recorder.secrets = Secrets()
        _ = try Runner(plan, recorder: recorder).run()
        let (records, _) = try CaptureReader.readAll(path)
        var generator = RandomSource(seed: 7)
        for round in 0..<9 {
            let begin = Int.random(in: 0..<records.count, using: &generator)
            let end = Int.random(in: begin..<records.count, using: &generator)
            var examiner = Examiner(rules: try DiagnosisRule.builtIn())
            for var record in records[begin...end] {
                // A format without directions, as link type 187.
                if round % 3 == 2, case .hci(let packet, _) = record.content { record.content = .hci(packet, nil) }
                examiner.examine(record)
            }
            let accusations = examiner.finish().findings.filter {
                [.fault, .symptom, .risk].contains($0.rule.severity) && ($0.link != nil || $0.device != nil)
            }
            #expect(accusations.map(\.rule.id) == [], "packets \(begin + 1) to \(end + 1)")
        }
    }
}
