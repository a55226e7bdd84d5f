import BBCases
import BBPackets
import BBSimulation
import BBTiming
import Foundation
import Testing

@testable import BBConformance
@testable import BBExploration

/// The search of all courses of events: our link layer violates nothing, and planted defects are found.
@Suite struct ExplorerTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Conformance").path
    static let vocabulary = Result {
        var vocabulary = Vocabulary.declared(covers: nil)
        vocabulary.builtInCovers = try PublicTests.load(folder)
        return vocabulary
    }
    static let catalogue = Result { try Catalogue.load(folder, vocabulary: try vocabulary.get()) }

    static let mutants = Result { try Mutant.load(folder + "/mutants", catalogue: try catalogue.get(), vocabulary: .declared(covers: [])) }

    static func mutant(_ id: String) throws -> Mutant { try #require(try mutants.get().first { $0.id == id }) }

    static let ours = Explorer.Setup(subject: .central, configuration: ControllerConfiguration(address: DeviceAddress(value: 0)))

    @Test func ourLinkLayerViolatesNothing() throws {
        let paths = Explorer.pairs(of: LinkRequest.allCases, events: 2)
        let result = try Exploration(Self.ours, paths: paths, losesPackets: true).run(threads: 2)
        #expect(result.done == paths.count && result.runs > paths.count * 5)
        #expect(result.findings.map { "\($0.path): \($0.violation.message)" } == [])
    }

    @Test func threeProceduresViolateNothing() throws {
        let paths = Explorer.triples(of: LinkRequest.allCases, events: 12, count: 300, seed: 1)
        #expect(paths == Explorer.triples(of: LinkRequest.allCases, events: 12, count: 300, seed: 1))
        let result = try Exploration(Self.ours, paths: paths, losesPackets: false).run(threads: 2)
        #expect(result.findings.map { "\($0.path): \($0.violation.message)" } == [])
    }

    /// The update starts in the step in which LL_PHY_UPDATE_IND ends the PHY update: its instant counts that PDU, which is lost here.
    @Test func anInstantCountsThePDUsOfItsStep() throws {
        let requests = [
            PlannedRequest(.peripheral, .phy), PlannedRequest(.central, .phy, event: 9), PlannedRequest(.central, .update, event: 9),
        ]
        let paths = (1...40).map { ExploredPath(requests, lostPacket: $0) }
        let result = try Exploration(Self.ours, paths: [ExploredPath(requests)] + paths, losesPackets: false).run(threads: 2)
        #expect(result.findings.map { "\($0.path): \($0.violation.message)" } == [])
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var mutant: String
        var subject: LinkRole
        var requests: [LinkRequest]
        var invariant: Invariant
        var losesPackets = false
        var testDescription: String { mutant }
    }

    /// Each defect with the requests that show it.
    static let rows: [Row] = [
        Row(mutant: "collision-always-different", subject: .central, requests: [.phy], invariant: .rejectionRight),
        Row(mutant: "collision-always-same", subject: .central, requests: [.phy, .channelMap], invariant: .rejectionRight),
        Row(mutant: "collision-ends-link", subject: .central, requests: [.phy, .channelMap], invariant: .linkLives),
        Row(mutant: "collision-rejects-another", subject: .central, requests: [.phy, .channelMap], invariant: .rejectionRight),
        Row(mutant: "collision-unanswered", subject: .central, requests: [.phy, .parameters], invariant: .endsOnce),
        Row(mutant: "collision-not-reported-phy", subject: .peripheral, requests: [.phy], invariant: .endsOnce),
        Row(mutant: "collision-not-reported-parameters", subject: .peripheral, requests: [.parameters, .channelMap], invariant: .endsOnce),
        Row(mutant: "collision-reported-as-success", subject: .peripheral, requests: [.phy, .channelMap], invariant: .rejectionTold),
        Row(mutant: "collision-reported-as-unknown", subject: .central, requests: [.phy, .channelMap], invariant: .rejectionRight),
        Row(mutant: "compatible-rejected", subject: .central, requests: [.phy, .features], invariant: .rejectionRight),
        Row(mutant: "peripheral-rejects-collision", subject: .peripheral, requests: [.phy], invariant: .rejectionRight),
        Row(mutant: "peripheral-rejects-parameters", subject: .peripheral, requests: [.parameters], invariant: .rejectionRight),
        Row(mutant: "length-collision-rejected", subject: .central, requests: [.dataLength], invariant: .sidesAgree),
        Row(mutant: "map-instant-past", subject: .central, requests: [.channelMap], invariant: .instantAhead),
        Row(mutant: "instant-late", subject: .central, requests: [.phy, .parameters], invariant: .linkLives),
        Row(mutant: "data-while-starting", subject: .central, requests: [.encryption, .data], invariant: .encryptionAlone),
        Row(mutant: "termination-unsent", subject: .central, requests: [.termination, .data], invariant: .linkLives),
        Row(mutant: "collision-served", subject: .central, requests: [.phy, .channelMap], invariant: .oneInstant),
        Row(mutant: "rejection-clears-instant", subject: .peripheral, requests: [.phy, .channelMap], invariant: .sidesAgree),
        Row(mutant: "rejection-leaves-timeout", subject: .peripheral, requests: [.phy, .channelMap], invariant: .linkLives),
        Row(mutant: "answers-during-encryption", subject: .central, requests: [.phy, .encryption], invariant: .encryptionAlone),
        Row(mutant: "begins-during-encryption", subject: .peripheral, requests: [.phy, .encryption], invariant: .encryptionAlone),
        Row(mutant: "extended-rejection-ignored", subject: .peripheral, requests: [.phy, .channelMap], invariant: .endsOnce),
        Row(mutant: "requests-ignored-before-instant", subject: .central, requests: [.features, .channelMap], invariant: .endsOnce),
        Row(mutant: "never-retransmits", subject: .central, requests: [.data, .features], invariant: .dataArrives, losesPackets: true),
    ]

    private func found(_ row: Row) throws -> Explorer.Finding {
        let configuration = try #require(try Self.mutant(row.mutant).controllerConfiguration())
        let setup = Explorer.Setup(subject: row.subject, configuration: configuration)
        let paths = Explorer.pairs(of: row.requests, events: 2)
        let result = try Exploration(setup, paths: paths, losesPackets: row.losesPackets).run(threads: 2)
        return try #require(
            result.findings.first { $0.violation.invariant == row.invariant },
            "\(result.findings.map { "\($0.violation.invariant): \($0.violation.message)" })")
    }

    @Test(arguments: rows) func plantedDefectsAreFound(row: Row) throws {
        let finding = try found(row)
        #expect(finding.path.requests.count <= 2)
        #expect((finding.path.lostPacket != nil) == row.losesPackets)
    }

    /// The written case passes with our controller, and fails with the defect at the step that states the invariant.
    static let written = rows.filter {
        // The written case masks the request for parameters, so no host accepts it, and the PDU with this defect is never sent.
        [.linkLives, .endsOnce, .rejectionRight, .rejectionTold, .dataArrives].contains($0.invariant)
            && $0.mutant != "peripheral-rejects-parameters"
    }

    @Test(arguments: written)
    func theWrittenCaseFailsByItself(row: Row) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let suite = folder.appendingPathComponent("explored")
        try FileManager.default.createDirectory(at: suite, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = ExploredCase(try found(row), subject: row.subject).text
        try text.write(to: suite.appendingPathComponent("one.yaml"), atomically: true, encoding: .utf8)
        let catalogue = try Catalogue.load(folder.path, base: Self.folder, vocabulary: try Self.vocabulary.get())
        func verdict(_ fault: Fault) throws -> CaseResult {
            let setup = BenchSetup(tester: .virtual, subject: .virtual, seed: 1)
            let plan = try RunPlan(catalogue: catalogue, setup: setup, filters: ["explored/one"])
            return try #require(try Runner(plan, recorder: try Recorder(path: nil), fault: fault).run().cases.first)
        }
        let good = try verdict(Fault())
        #expect(good.verdict == .pass, "\(good.message)\n\(text)")
        let bad = try verdict(try Self.mutant(row.mutant).fault)
        #expect(bad.verdict == .fail && bad.failedStep?.requirement != nil, "\(bad.verdict) \(bad.message)\n\(text)")
    }

    /// Requests, losses and events that the violation does not need are left out.
    @Test func aViolationIsShrunk() throws {
        let configuration = try #require(try Self.mutant("collision-always-different").controllerConfiguration())
        let explorer = Explorer(.init(subject: .central, configuration: configuration))
        let path = ExploredPath(
            [
                PlannedRequest(.peripheral, .version), PlannedRequest(.central, .phy, event: 5),
                PlannedRequest(.peripheral, .phy, event: 5),
            ], lostPacket: 2)
        let violation = try #require(try explorer.violations(path).first)
        let shortest = try explorer.shrink(path, violation)
        #expect(shortest.path == ExploredPath([PlannedRequest(.central, .phy), PlannedRequest(.peripheral, .phy)]))
        #expect(shortest.violation.invariant == .rejectionRight)
    }
}
