import BBPackets
import Testing

@testable import BBCases
@testable import BBConformance

/// Mutants made from the declarations.
struct GeneratedMutantTests {
    static let freedoms = Result { try Freedom.load(SuiteTests.folder, changes: GeneratedMutant.Change.names) }

    static let crossing = Result {
        try GeneratedTrial(
            catalogue: try SuiteTests.catalogue(), freedoms: [], seed: 1, filters: ["collisions/central-phy-phy", "phy/central-asks-2m"],
            threads: 1)
    }

    private func mutant(_ id: String) throws -> GeneratedMutant { try #require(GeneratedMutant.all.first { $0.id == id }) }

    @Test func everyFieldAndPacketHasItsMutants() throws {
        let ids = GeneratedMutant.all.map(\.id)
        #expect(Set(ids).count == ids.count && ids.count > 5_000)
        for change in ["one-more", "zero", "maximum", "neighbour"] { #expect(ids.contains("LE_PHY_Update_Complete.TX_PHY \(change)")) }
        for change in ["missing", "twice", "late", "swapped"] { #expect(ids.contains("LL_PHY_RSP \(change)")) }
        #expect(ids.contains("answer LE_Read_PHY.Connection_Handle one-more"))
        #expect(ids.contains("LL_CTE_REQ.RFU reserved"))
        #expect(!ids.contains("LL_CTE_REQ.RFU zero"))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var mutant: String
        /// The rule in the message.
        var words: String
        var testDescription: String { mutant }
    }

    /// Defects that die by a rule for all cases, in cases that are about something else.
    static let rows: [Row] = [
        Row(mutant: "answer LE_Read_PHY.Connection_Handle one-more", words: "An answer has the Connection_Handle of its command"),
        Row(mutant: "answer LE_Set_PHY twice", words: "A command is answered once"),
        Row(mutant: "answer LE_Set_PHY missing", words: "A controller answers each command"),
        Row(mutant: "LE_Read_Remote_Features_Complete.Connection_Handle maximum", words: "Events are about connections that exist"),
        Row(mutant: "Command_Status.Command_Opcode zero", words: "A controller answers each command"),
    ]

    @Test(arguments: rows) func aRuleForAllCasesKills(row: Row) throws {
        let result = try #require(try Self.crossing.get().run([mutant(row.mutant)]).first)
        guard case .killed(_, let message) = result.outcome else {
            Issue.record("\(result.outcome)")
            return
        }
        #expect(message.contains(row.words), "\(message)")
        #expect(message.contains("expected") && message.contains("got") && message.contains("packet"))
    }

    @Test func freedomsAndUnsentPacketsAreNotJudged() throws {
        let freedoms = try Self.freedoms.get()
        let trial = try GeneratedTrial(
            catalogue: try SuiteTests.catalogue(), freedoms: freedoms, seed: 1, filters: ["phy/central-asks-2m"], threads: 1)
        let mutants = try ["answer LE_Read_PHY late", "LL_CIS_REQ missing", "LE_PHY_Update_Complete.Status zero"].map { try mutant($0) }
        let outcomes = try trial.run(mutants).map { "\($0.outcome)" }
        #expect(outcomes[0].hasPrefix("allowed") && outcomes[1...].allSatisfy { $0 == "noOccasion" })
        #expect(try trial.effective(mutants).isEmpty)
        #expect(
            freedoms.allSatisfy { freedom in
                GeneratedMutant.all.contains { freedom.covers(packet: $0.packet, field: $0.field, change: $0.change.rawValue) }
            })
        #expect(freedoms.allSatisfy { $0.allowedBy.hasPrefix("Core Vol ") })
    }
}
