import Testing

@testable import BBCases

/// Steps that could never fail: conditions that no value satisfies under `not` and `none`, windows without packets, ids in no list.
struct IdleStepTests {
    static let mistakes: [(String, String)] = [
        (
            "steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, saveAs: x}\n  - {check: $x, is: {not: {TX_PYH: 1}}, states: s}",
            "6:28: x has no field 'TX_PYH'; did you mean TX_PHY?"
        ),
        (
            "steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, saveAs: x}\n"
                + "  - {check: $x, is: {anyOf: [{TX_PHY: LE_1M}, {TX_PYH: 1}]}, states: s}",
            "x has no field 'TX_PYH'; did you mean TX_PHY?"
        ),
        (
            "steps:\n  - {send: Reset, as: tester, saveAs: x}\n  - {check: $x.Status, is: {not: {length: 1}}, states: s}",
            "$x.Status is a number: 'length' says nothing about it"
        ),
        (
            "steps:\n  - {send: Reset, as: tester, saveAs: x}\n  - {check: $x, is: {Status: {not: {startsWith: \"00\"}}}, states: s}",
            "$x.Status is a number: 'startsWith' says nothing about it"
        ),
        (
            "steps:\n  - {expect: LE_Advertising_Report, as: tester, saveAs: r}\n"
                + "  - {check: $r.Reports, is: {each: {Data: {not: {atLeast: 4}}}}, states: s}",
            "$r.Reports.Data is octets: 'atLeast' says nothing about it"
        ),
        (
            "steps:\n  - {do: connect, as: tester, with: {to: 180D}, saveAs: link}\n"
                + "  - {none: LE_PHY_Update_Complete, as: tester, where: {TX_PHY: $link}, within: 1 s}",
            "6:64: $link is a set of values, which TX_PHY, a number, never equals"
        ),
        (
            "steps:\n  - {do: connect, as: tester, with: {to: 180D}, saveAs: link}\n  - {send: Reset, as: tester, saveAs: x}\n"
                + "  - {check: $x.Status, is: {not: $link}, states: s}",
            "$link is a set of values, which $x.Status, a number, never equals"
        ),
        ("steps:\n  - {none: LE_PHY_Update_Complete, as: tester, within: 0 ms}", "5:12: a window of 0 ms without `since:`"),
        ("needs: air\nsteps:\n  - {air: none, pdu: LL_LENGTH_REQ, as: tester, within: 0 ms}", "a window of 0 ms without `since:`"),
    ]

    @Test(arguments: mistakes) func aStepThatCannotFailIsRefused(_ body: String, _ expected: String) {
        let (_, problems) = Samples.load(Samples.head(body))
        #expect(problems.contains { $0.description.contains(expected) }, "\(problems.map(\.description))")
    }

    /// Comparisons that hold for some values.
    @Test(arguments: [
        "{check: $x, is: {not: {TX_PHY: LE_2M}}, states: s}", "{check: $x.TX_PHY, is: {not: {mask: 1, is: 0}}, states: s}",
        "{none: LE_PHY_Update_Complete, as: tester, where: {TX_PHY: $x.TX_PHY}, within: 1 s}",
        "{none: LE_PHY_Update_Complete, as: tester, since: begin, within: 0 ms}",
        "{either: [[{expect: Command_Status, as: tester, saveAs: y}], [{expect: LE_PHY_Update_Complete, as: tester, saveAs: y}]]}\n"
            + "  - {check: $y, is: {not: {TX_PHY: 2}}, states: s}",
    ])
    func anotherStepIsRead(_ step: String) {
        let body =
            "steps:\n  - {send: Reset, as: tester, name: begin}\n  - {expect: LE_PHY_Update_Complete, as: tester, since: begin, saveAs: x}\n"
            + "  - {check: $x.Status, is: Success, states: s}\n  - \(step)"
        let (_, problems) = Samples.load(Samples.head(body))
        #expect(problems.isEmpty, "\(problems.map(\.description))")
    }

    /// An id in no table is a warning in a folder without tables of its own: it may be the user's.
    @Test func aPublicIDOfNoTableIsAWarningInAFolderOfAUser() {
        var vocabulary = Samples.vocabulary
        (vocabulary.covers, vocabulary.builtInCovers) = (nil, vocabulary.covers)
        for (id, expected) in [
            ("LL/CON/PER/BV-41-C", "no table has the public test case 'LL/CON/PER/BV-41-C'; did you mean LL/CON/PER/BV-40-C?"),
            ("REQ-12", "no table has the public test case 'REQ-12'; list your own ids in public-tests/NAME.tsv beside the suites"),
            ("LL/CON/PER/BV-40-C", ""),
        ] {
            let (_, problems) = Samples.load(
                "title: t\npurpose: p\nreference: r\ncovers: {\(id): full}\nsteps:\n  - {send: Reset, as: tester, states: s}", vocabulary)
            #expect(problems.map(\.text) == [expected].filter { !$0.isEmpty } && problems.allSatisfy(\.isWarning))
        }
    }
}
