import BBPackets
import Testing

@testable import BBCases

/// Rounds whose words replace parts of a case.
struct RoundTests {
    static let sides = """
        title: A $side is asked for $phy
        purpose: p
        reference: Core Vol 6, Part B, 5.1.10
        rounds:
          side:
            central: {own: subject, peer: tester, extra: []}
            peripheral: {own: tester, peer: subject, extra: [{send: Reset, as: $own}, {wait: 1 ms}]}
          phy: [LE_2M, LE_1M]
          n: [1, 2]
        parameters: {n: {default: 1, range: [1, 4]}}
        steps:
          - $extra
          - {use: advertise, as: $own, with: {interval: 40}}
          - {send: LE_Set_Data, as: $peer, with: {Step: $n, Data: "01"}, answer: {Status: {not: $own.type}}}
          - {expect: LE_PHY_Update_Complete, as: $own, where: {PHYs: $phy}, within: 1 s, states: "The $side, $phy."}
        """

    @Test func wordsMakeACaseOfEachCombination() throws {
        let folder = try Folder(["phy/a.yaml": Self.sides, "procedures/advertise.yaml": Samples.procedures])
        let catalogue = try Catalogue.load(folder.path, vocabulary: Samples.vocabulary)
        let ids = ["central", "peripheral"].flatMap { side in
            ["LE_2M", "LE_1M"].flatMap { phy in [1, 2].map { "phy/a[side=\(side),phy=\(phy),n=\($0)]" } }
        }
        #expect(catalogue.cases.map(\.id) == ids && catalogue.cases.allSatisfy { $0.file == "phy/a" })
        let (first, last) = (catalogue.cases[0], catalogue.cases[7])
        #expect([first.title, last.title] == ["A central is asked for LE_2M", "A peripheral is asked for LE_1M"])
        #expect(first.steps.map(\.side) == [.subject, .tester, .subject])
        #expect(last.steps.map(\.side) == [.tester, .tester, .tester, .subject, .tester])
        #expect(last.steps.last?.states == "The peripheral, LE_1M.")
        guard case .send(let command)? = last.steps.dropLast().last?.kind, case .fields(let answer) = command.answer,
            case .not(.equals(.reference(let reference)))? = answer.first?.predicate
        else { throw Problem(last.position, "not the steps of the case") }
        #expect(reference.description == "$tester.type")
    }

    /// The body of a case, and the error message.
    static let mistakes: [(String, String)] = [
        (
            "rounds:\n  side:\n    central: {own: subject}\n    peripheral: {peer: tester}\nsteps:\n  - {send: Reset, as: $own, states: s}",
            "case.yaml:7:5: 'peripheral' does not say 'own', which another value of 'side' says"
        ),
        (
            "parameters: {gap: {default: 1, range: [1, 4]}}\nrounds: {gpa: [1, 2]}\nsteps:\n  - {check: $gap, is: 1, states: s}",
            "case.yaml:5:10: the case has no parameter 'gpa', and nothing says $gpa; did you mean gap?"
        ),
        ("rounds: {side: {central: {own: subject}}}\nsteps:\n  - {wait: 1 s, states: s}", "4:27: warning: the word 'own' is never used"),
        ("rounds: {side: {central: subject}}\nsteps:\n  - {wait: 1 s, states: s}", "4:26: the words of 'central' must be a set of"),
        ("rounds: {side: {}}\nsteps:\n  - {wait: 1 s, states: $side}", "4:10: 'side' has no values"),
        ("rounds: {side: [a, b, a]}\nsteps:\n  - {wait: 1 s, states: $side}", "4:23: the same round twice"),
        ("rounds: {side: [a=b]}\nsteps:\n  - {wait: 1 s, states: $side}", "4:17: 'a=b' cannot stand in the id of a round"),
        ("rounds: {tester: [a]}\nsteps:\n  - {wait: 1 s, states: $tester}", "4:10: the name 'tester' stands for something already"),
        (
            "rounds: {one: {a: {x: 1}}}\nsteps:\n  - {send: Reset, as: tester, saveAs: x}\n  - {check: $x.Status, is: Success, states: $one}",
            "case.yaml:4:20: the name 'x' stands for something already"
        ),
        ("rounds: {side: [tester, subjct]}\nsteps:\n  - {send: Reset, as: $side, states: s}", "4:25: 'subjct' is neither"),
        ("rounds: {pdu: {one: {sent: Rest}}}\nsteps:\n  - {send: $sent, as: tester, states: s}", "4:28: there is no PDU 'Rest'"),
    ]

    @Test(arguments: mistakes) func aMistakeIsReportedOnceWithItsPlace(_ body: String, _ expected: String) throws {
        let folder = try Folder(["phy/case.yaml": Samples.head(body)])
        var found: [Problem] = []
        do {
            found = try Catalogue.load(folder.path, vocabulary: Samples.vocabulary).warnings
        } catch { found = error.list }
        #expect(found.count { $0.description.contains(expected) } == 1, "\(found.map(\.description))")
    }

    /// The id of a round, a filter, and true if the filter selects the round.
    @Test(
        arguments: [
            ("phy/a[side=central,n=1]", "phy/a", true), ("phy/a[side=central,n=1]", "phy/a[side=central]", true),
            ("phy/a[side=central,n=1]", "phy/a[n=1]", true), ("phy/a[side=central,n=1]", "a[n=1,side=central]", true),
            ("phy/a[side=central,n=1]", "phy/a[side=peripheral]", false), ("phy/a[side=central,n=11]", "phy/a[n=1]", false),
            ("phy/a[side=central,n=1]", "phy/b[side=central]", false), ("phy/a", "phy/a[n=1]", false),
            ("phy/a[side=central]", "phy/*central]", true),
        ] as [(String, String, Bool)])
    func aFilterNamesPartsOfARound(_ id: String, _ filter: String, _ isSelected: Bool) {
        #expect(CaseFilter.matches(id, filter) == isSelected)
    }

    /// Killers of a mutant, and the error message, if there is one.
    @Test(
        arguments: [
            ("phy/a", nil), ("\"phy/a[side=central]\"", nil), ("\"phy/a[side=central,n=1,phy=LE_2M]\"", nil),
            ("\"phy/a[side=centrl]\"", "there is no case 'phy/a[side=centrl]'"), ("phy", "there is no case 'phy'"),
        ] as [(String, String?)])
    func aKillerMayBeARound(_ killer: String, _ expected: String?) throws {
        let mutant = "title: t\nbreaks: b\nviolates: v\ncontroller: {max-octets: 27}\nkillers: [\(killer)]"
        let folder = try Folder([
            "phy/a.yaml": Self.sides, "procedures/advertise.yaml": Samples.procedures, "mutants/m.yaml": mutant,
        ])
        let catalogue = try Catalogue.load(folder.path, vocabulary: Samples.vocabulary)
        do {
            _ = try Mutant.load(folder.path + "/mutants", catalogue: catalogue, vocabulary: Samples.vocabulary)
            #expect(expected == nil)
        } catch { #expect(expected.map { error.description.contains($0) } == true, "\(error)") }
    }

    /// The steps of a case, and the needed commands that are added.
    @Test(
        arguments: [
            ("{send: LE_Set_PHY, as: subject, with: {Connection_Handle: 1}, states: s}", "subject.LE_Set_PHY"),
            ("{send: Reset, as: subject, states: s}", nil),
            ("{send: LE_Set_PHY, as: subject, with: {Connection_Handle: 1}, when: subject.LE_2M_PHY, states: s}", nil),
            ("{use: advertise, as: tester, with: {interval: 40}, states: s}", "tester.LE_Set_PHY"),
            ("{use: advertise, with: {interval: 40}, states: s}", "subject.LE_Set_PHY"),
            ("{repeat: 2, steps: [{use: advertise, with: {interval: 40}, states: s}]}", "subject.LE_Set_PHY"),
        ] as [(String, String?)])
    func sentCommandsAreNeeded(_ step: String, _ expected: String?) throws {
        let folder = try Folder([
            "phy/a.yaml": Samples.head("steps:\n  - \(step)"), "procedures/advertise.yaml": Samples.procedures,
        ])
        let catalogue = try Catalogue.load(folder.path, vocabulary: Samples.vocabulary)
        #expect(catalogue.cases.map { $0.needs?.description } == [expected])
    }

    /// A condition of `check`, and the error message, if there is one.
    @Test(
        arguments: [
            ("{check: $e.TX_PHY, is: LE_2M, states: s}", nil), ("{check: $e.TX_PHY, is: {not: LE_2M}, states: s}", nil),
            ("{check: $e.TX_PHY, is: LE_3M, states: s}", "TX_PHY has no value 'LE_3M'; did you mean LE_2M?"),
            ("{check: $e.TX_PHY, is: 2, states: s}", "TX_PHY is written by name: LE_2M for 2"),
            ("{check: $e, is: {Status: Success, TX_PHY: LE_2M}, states: s}", nil),
            ("{check: $r.Reports.0.RSSI, is: {atLeast: 3}, states: s}", nil),
            ("{check: $r.Reports.0.Address, is: {mask: 0xC0, is: 0x40}, states: s}", nil),
        ] as [(String, String?)])
    func aCheckTakesNames(_ step: String, _ expected: String?) {
        let body = """
            steps:
              - {expect: LE_PHY_Update_Complete, as: tester, within: 1 s, saveAs: e}
              - {expect: LE_Advertising_Report, as: tester, within: 1 s, saveAs: r}
              - \(step)
            """
        let problems = Samples.load(Samples.head(body)).problems.filter { !$0.isWarning }
        #expect(expected == nil ? problems.isEmpty : problems.contains { $0.text.contains(expected ?? "") }, "\(problems)")
    }
}
