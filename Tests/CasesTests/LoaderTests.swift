import BBPackets
import Foundation
import Testing

@testable import BBCases

struct LoaderTests {
    static let good = """
        title: The controller asks for 2M
        purpose: A host's LE_Set_PHY leads to the asked PHY.
        reference: Core Vol 6, Part B, 5.1.10
        covers: {LL/CON/PER/BV-40-C: partial}
        needs: tester.LE_2M_PHY and not subject.LE_Coded_PHY and virtual
        parameters:
          phy: {default: 2, range: [1, 4], about: asked}
        limits: {step: 3 s, case: 1 min}
        world: {packetErrorRate: 0.1, subject: {max-octets: 27}}
        steps:
          - send: LE_Set_PHY
            as: subject
            with: {Connection_Handle: 64, TX_PHYS: $phy, RX_PHYS: 0x02}
            answer: {Status: Success}
            name: ask
          - expect: LE_PHY_Update_Complete
            as: subject
            where: {Status: Success, TX_PHY: LE_2M, RX_PHY: {anyOf: [1, 2]}}
            within: 20 connection events
            since: ask
            states: The PHY is 2M.
          - repeat: 3
            steps:
              - {wait: 10 ms}
        """

    @Test func aGoodCaseIsRead() throws {
        let (loaded, problems) = Samples.load(Self.good)
        #expect(problems.isEmpty, "\(problems)")
        let testCase = try #require(loaded)
        #expect(testCase.suite == "phy")
        #expect(testCase.limits == Limits(step: .seconds(3), run: .seconds(60)))
        #expect(testCase.world.packetErrorRate == 0.1)
        #expect(testCase.steps.count == 3)
        guard case .send(let command) = testCase.steps[0].kind else { return #expect(Bool(false)) }
        #expect(command.fields.map(\.name) == ["Connection_Handle", "TX_PHYS", "RX_PHYS"])
        guard case .expect(let expectation) = testCase.steps[1].kind else { return #expect(Bool(false)) }
        #expect(expectation.window?.within == .connectionEvents(20))
        #expect(testCase.steps[1].position.line == 16)
    }

    /// The body of a case, and the error message.
    static let mistakes: [(String, String)] = [
        ("steps:\n  - sned: Reset\n    as: tester", "case.yaml:5:5: a step begins with one of"),
        ("steps:\n  - sned: Reset\n    as: tester", "did you mean send?"),
        ("steps:\n  - send: Rest\n    as: tester", "case.yaml:5:11: there is no PDU 'Rest'; did you mean Reset?"),
        (
            "steps:\n  - send: LE_Set_PHY\n    as: tester\n    with: {TX_PHY: 2}",
            "7:12: LE_Set_PHY has no field 'TX_PHY'; did you mean TX_PHYS?"
        ),
        ("steps:\n  - send: LE_Set_PHY\n    as: testre", "neither tester nor subject"),
        ("steps:\n  - send: LE_Set_PHY", "does not say who"),
        (
            "steps:\n  - expect: LE_PHY_Update_Complete\n    as: tester\n    where: {TX_PHY: LE_3M}",
            "TX_PHY has no value 'LE_3M'; did you mean LE_2M?"
        ),
        ("steps:\n  - expect: LE_PHY_Update_Complete\n    as: tester\n    within: 5 sec", "'5 sec' is not a span"),
        ("steps:\n  - expect: LE_PHY_Update_Complete\n    as: tester\n    since: nowhere", "no step has the name 'nowhere'"),
        ("steps:\n  - expect: LE_Set_PHY\n    as: tester", "LE_Set_PHY cannot be used here"),
        ("steps:\n  - do: conect\n    as: tester", "there is no action 'conect'; did you mean connect?"),
        ("steps:\n  - do: connect\n    as: tester", "connect needs 'to': whom"),
        (
            "steps:\n  - do: connect\n    as: tester\n    with: {to: 180D, interval: 5}",
            "7:22: connect needs a number of 6 to 3200 after 'interval', not 5"
        ),
        ("steps:\n  - do: connect\n    as: tester\n    with: {to: whom}", "7:12: connect needs a UUID after 'to', not whom"),
        ("steps:\n  - check: $nothing.x\n    is: 1", "nothing is saved as 'nothing'"),
        ("steps:\n  - send: Reset\n    as: tester", "no step has `states:`"),
        ("steps: []", "the case has no steps"),
        (
            "covers: {LL/CON/PER/BV-41-C: full}\nsteps: []",
            "no table has the public test case 'LL/CON/PER/BV-41-C'; did you mean LL/CON/PER/BV-40-C?"
        ),
        ("needs: tester.LE_3M_PHY\nsteps: []", "there is no feature or command 'tester.LE_3M_PHY'; did you mean tester.LE_2M_PHY?"),
        (
            "needs: subject.LE_Reed_PHY\nsteps: []",
            "there is no feature or command 'subject.LE_Reed_PHY'; did you mean subject.LE_Read_PHY?"
        ),
        (
            "steps:\n  - {wait: 1 s, otherwise: inconclusiv}",
            "5:28: otherwise is one of inconclusive, not applicable, next; did you mean inconclusive?"
        ),
        ("steps:\n  - {attempts: 1, steps: [{wait: 1 s}]}", "5:16: attempts is a number from 2 to 100"),
        ("tags: [usbb]\nsteps: []", "4:8: there is no tag 'usbb'; did you mean usb?"),
        ("tags: [usb]\nneeds: air\nsteps: []", "4:8: it cannot have the tag 'usb': the case needs the simulation"),
        ("tags: [usb]\nworld: {packetErrorRate: 0.1}\nsteps: []", "it cannot have the tag 'usb': the case sets up the simulated world"),
        ("needs: tester.LE_2M_PHY and\nsteps: []", "the name of a feature is missing"),
        ("parameters: {n: {default: 9, range: [1, 4]}}\nsteps: []", "9 is outside the parameter's range of 1 to 4"),
        ("world: {packetErrorRate: 2}\nsteps: []", "from 0 to 1"),
        ("world: {tester: {max-octet: 27}}\nsteps: []", "there is no quirk 'max-octet' of controllers; did you mean max-octets?"),
        ("subject: accesory\nsteps: []", "did you mean accessory?"),
        ("subject: accessory\nsteps:\n  - {send: Reset, as: subject}", "an accessory has no HCI of its own here"),
        ("stesp: []", "a case has no 'stesp'; did you mean steps?"),
        ("steps:\n  - {air: expect, pdu: LL_LENGTH_REQ, as: tester, states: s}", "must say `needs: air`"),
        ("steps:\n  - {send: ATT_READ_REQ, as: tester, with: {Attribute_Handle: 1}}", "needs a connection"),

        ("steps: [\n", "not YAML"),
        ("steps: []\nsteps: []", "the same name twice"),
    ]

    /// Mistakes that would make a case prove nothing, run forever or fail with a bench error.
    static let subtleMistakes: [(String, String)] = [
        ("steps:\n  - {send: Reset, as: tester, saveAs: x, states: s}", "5:5: warning: 'x' is saved and never used"),
        ("steps:\n  - {send: Reset, as: tester, name: x, states: s}", "5:5: warning: the name 'x' is never used"),
        ("parameters: {x: 1}\nsteps:\n  - {send: Reset, as: tester, states: s}", "4:14: warning: the parameter 'x' is never used"),
        ("constants: {x: 1}\nsteps:\n  - {send: Reset, as: tester, states: s}", "4:13: warning: the constant 'x' is never used"),
        (
            "steps:\n  - {do: connect, as: tester, with: {to: 180D}, result: {handle: {lenght: 1}}, states: s}",
            "5:67: there is no condition 'lenght'; did you mean length?"
        ),
        (
            "steps:\n  - {do: connect, as: tester, with: {to: 180D}, result: {handle: {int61: 4}}, states: s}",
            "there is no condition 'int61'; did you mean int16?"
        ),
        (
            "steps:\n  - {do: connect, as: tester, with: {to: 180D}, result: {handle: {not: {atLest: 4}}}, states: s}",
            "there is no condition 'atLest'; did you mean atLeast?"
        ),
        (
            "steps:\n  - {do: connect, as: tester, with: {to: 180D}, saveAs: x}\n  - {check: $x.handle, is: {lenght: 1}, states: s}",
            "$x.handle is a single value: there is no condition 'lenght'; did you mean length?"
        ),
        (
            "steps:\n  - {send: Reset, as: tester, saveAs: x}\n  - {check: $x.Status, is: {anyOf: [{atLest: 1}]}, states: s}",
            "$x.Status is a number: there is no condition 'atLest'"
        ),
        (
            "steps:\n  - {measure: count, of: LE_Connected, as: tester, during: 1 s, is: {atLest: 1}, states: s}",
            "there is no condition 'atLest'"
        ),
        ("needs: air\nsteps:\n  - {send: Reset, as: tester, states: s}", "says `needs: air`, but no step is about the air"),
        ("steps:\n  - {none: LE_Connected, as: tester, within: 1 s}", "5:12: none leaves out LE_Enhanced_Connected"),
        ("steps:\n  - {send: LE_Set_Data, as: tester, with: {Data: \"0G 1\"}}", "5:50: '0G 1' is not octets"),
        ("steps:\n  - {send: LE_Set_Data, as: tester, with: {Data: \"011\"}}", "'011' is not octets"),
        ("steps:\n  - {send: LE_Set_Data, as: tester, with: {Data: 5}}", "Data is octets, not a number: write them as \"05\""),
        ("steps:\n  - {send: LE_Set_Data, as: tester, with: {Data: {octet: 1, times: 4}}}", "Data has room for 3 octets, not 4"),
        ("steps:\n  - {send: LE_Set_PHY, as: tester, with: {Connection_Handle: 4096}}", "4096 does not fit Connection_Handle"),
        ("steps:\n  - {send: LE_Set_PHY, as: tester}", "LE_Set_PHY needs 'Connection_Handle'"),
        ("steps:\n  - {parallel: []}", "5:16: parallel is empty"),
        ("steps:\n  - {parallel: [[]]}", "a branch is empty"),
        ("steps:\n  - {either: []}", "either is empty"),
        ("steps:\n  - {either: [[{expect: LE_Connected, as: tester}]]}", "either needs two branches or more"),
        (
            "steps:\n  - {either: [[{expect: LE_Connected, as: tester, within: 1 s}], [{expect: LE_Connected, as: tester}, {wait: 1 ms}]]}",
            "a branch before this one begins with the same expect"
        ),
        ("steps:\n  - {repeat: 3, steps: []}", "steps is empty"),
        ("steps:\n  - {repeat: -1, steps: [{wait: 1 ms}]}", "5:14: repeat needs a number from 1 to 10000"),
        ("steps:\n  - {repeat: 1000000, steps: [{wait: 1 ms}]}", "repeat needs a number from 1 to 10000"),
        ("steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, where: {RX_PHY: {range: [3, 1]}}}", "the range is upside down"),
        (
            "steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, where: {RX_PHY: {near: 3, tolerance: -1}}}",
            "tolerance is a number from 0"
        ),
        (
            "steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, where: {RX_PHY: {near: 9223372036854775807, tolerance: 1}}}",
            "near is a number from"
        ),
        ("steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, after: 2 s, within: 1 s}", "the window is upside down"),
        ("steps:\n  - {wait: 5 min}", "300 s is longer than the case may last, 120 s"),
        ("limits: {case: 20000 min}\nsteps:\n  - {wait: 1 s}", "case is a time of more than 0 and at most 3600 s"),
        (
            "steps:\n  - {use: advertise, saveAs: a}\n  - {check: $a.hande, is: 1, states: s}",
            "6:13: $a.hande: there is no 'hande'; did you mean handle?"
        ),
        ("steps:\n  - {use: advertise, with: {interval: 101}}", "5:29: 101 is outside the range of advertise's 'interval', 32 to 100"),
        ("steps:\n  - {use: advertise, with: {intervall: 50}}", "procedure advertise has no field 'intervall'; did you mean interval?"),
        ("steps:\n  - {use: advertize}", "5:11: there is no procedure 'advertize'; did you mean advertise?"),
        ("subject: accessory\nsteps:\n  - {use: advertise}", "procedure advertise acts as the subject"),
        ("steps:\n  - {check: $x, is: 1, states: s}\n  - {send: Reset, as: tester, saveAs: x}", "'x' is not saved yet here"),
        (
            "steps:\n  - {send: Reset, as: tester, saveAs: x}\n  - {check: $x.Status, is: Succes, states: s}",
            "Status has no value 'Succes'; did you mean Success?"
        ),
        (
            "steps:\n  - {send: Reset, as: tester, saveAs: x}\n  - {check: $x.Status, is: {anyOf: [0, Unspecified_Error]}, states: s}",
            "Status has no value 'Unspecified_Error'"
        ),
        (
            "steps:\n  - {send: Reset, as: tester, saveAs: x}\n  - {check: $x, is: {Status: {not: Succes}}, states: s}",
            "Status has no value 'Succes'; did you mean Success?"
        ),
        (
            "steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, saveAs: x}\n  - {check: $x.Status, is: {not: \"01 02\"}, states: s}",
            "Status has no value '01 02'"
        ),
        (
            "parameters: {x: {default: 1, range: [1, 4]}}\nsteps:\n  - {check: $x, is: Success, states: s}",
            "$x is a number, which never equals 'Success': write its number"
        ),
        (
            "steps:\n  - {attempts: 2, steps: [{wait: 1 s}], between: [{check: $x, is: 1}]}\n  - {send: Reset, as: tester, saveAs: x}",
            "'x' is not saved yet here"
        ),
        (
            "steps:\n  - {expect: LE_Advertising_Report, as: tester, saveAs: r}\n  - {check: $r.match.RSSI, is: 1, states: s}",
            "$r.match.RSSI: there is no 'match'"
        ),
        (
            "steps:\n  - {send: Reset, as: tester, when: virtual, saveAs: x}\n  - {check: $x, is: 1, states: s}",
            "'x' is not saved yet here, or not on every way to it"
        ),
        ("steps:\n  - {expect: LE_Connected, as: tester, since: x}\n  - {mark: x}", "the step 'x' has not run yet here"),
        (
            "steps:\n  - {expect: LE_Connected, as: tester}\n  - {mark: x}\n  - {expect: LE_Connected, as: subject, since: x}",
            "7:5: nothing acts between 'x' and this step"
        ),
        ("steps:\n  - {until: LE_Connected, as: tester, steps: [{check: 1, is: 1}]}", "the steps take no time"),
        ("steps:\n  - {until: LE_Connected, as: tester, atMost: 0, steps: [{wait: 1 ms}]}", "atMost is a number from 1 to 10000"),
        (
            "steps:\n  - repeat: 1000\n    steps:\n      - repeat: 1000\n        steps:\n          - {wait: 1 us}",
            "the case could run more than 100000 steps"
        ),
        ("steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, where: {TX_PHY: 2}}", "5:66: TX_PHY is written by name: LE_2M for 2"),
        ("steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, where: {PHYs: 3}}", "PHYs is written by name: LE_1M|LE_2M for 3"),
        (
            "steps:\n  - {expect: LE_Advertising_Report, as: tester, where: {Reports: {some: {Data: {atLeast: 3}}}}}",
            "Data is octets, not a number; look into it with {uint8: {atLeast: ...}}"
        ),
        ("steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, where: {Status: {startsWith: \"00\"}}}", "Status is a number"),
        (
            "steps:\n  - {expect: LE_Advertising_Report, as: tester, where: {Reports: {some: {Data: {uint8: 300}}}}}",
            "300 does not fit uint8"
        ),
        ("steps:\n  - {expect: LE_PHY_Update_Complete, as: tester, where: {RX_PHY: {}}}", "the condition is empty"),
        (
            "parameters: {x: {default: 1, range: [1, 4]}}\nrounds: [{x: 9}]\nsteps:\n  - {check: $x, is: 1, states: s}",
            "5:11: 9 is outside the"
        ),
        ("parameters: {x: {default: 1, range: [1, 4]}}\nrounds: [{y: 2}]\nsteps:\n  - {check: $x, is: 1, states: s}", "no field 'y'"),
        ("parameters: {x: 1}\nrounds: [{x: 2}, {x: 2}]\nsteps:\n  - {check: $x, is: 1, states: s}", "5:18: the same round twice"),
        (
            "parameters: {x: {default: 1, range: [1, 4]}}\nrounds: {x: {from: 1, to: 9, step: 4}}\nsteps:\n  - {check: $x, is: 1, states: s}",
            "outside the"
        ),
        (
            "parameters: {x: {default: 1, range: [1, 4]}}\nrounds: {x: {from: 4, to: 1}}\nsteps:\n  - {check: $x, is: 1, states: s}",
            "goes from"
        ),
        ("parameters: {x: {default: 1, range: [1, 4]}}\nrounds: {y: [1]}\nsteps:\n  - {check: $x, is: 1, states: s}", "no parameter 'y'"),
        ("steps:\n  - {wait: $gap}", "nothing is saved as 'gap'"),
        ("parameters: {gap: 5}\nsteps:\n  - {wait: $gap}", "$gap needs a range"),
        ("parameters: {gap: {default: 5 ms, range: [0 ms, 1 h]}}\nsteps:\n  - {wait: $gap}", "range must be a whole number"),
        ("parameters: {gap: {default: 5 ms, range: [0 ms, 10 min]}}\nsteps:\n  - {wait: $gap}", "600 s is longer than the case may last"),
        ("parameters: {n: {default: 5, range: [1, 9]}}\nsteps:\n  - {wait: $n blinks}", "is not a span"),
        ("reference: somewhere\nsteps: []", "the same name twice: reference"),
        ("steps:\n  - {send: Reset, as: $nobody}", "there is no role 'nobody'"),
        ("world: {subject: {max-octets: 20}}\nsteps: []", "'20' is not a value of the quirk: use max-octets=27...251"),
        ("world: {subject: {max-octets: 27}}\nsteps:\n  - {wait: 1 s}", "must say `needs: virtual`"),
        ("steps: [&a [*a], *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a]", "more than 16 aliases"),
        ("steps: " + String(repeating: "[", count: 500), "brackets are nested too deeply"),
        ("steps: " + String(repeating: "\n- ", count: 1) + String(repeating: "- ", count: 400) + "x", "indented too far"),
        ("x: &a [" + String(repeating: "1, ", count: 4_000) + "1]\ny: &b [*a, *a, *a, *a]\nz: [*b, *b, *b, *b]", "more than 50000 values"),
    ]

    @Test(arguments: subtleMistakes)
    func aMistakeThatRunsIsFoundBefore(_ body: String, _ expected: String) {
        let (_, problems) = Samples.load(Samples.head(body))
        #expect(problems.contains { $0.description.contains(expected) }, "\(problems.map(\.description))")
    }

    @Test func aCaseNamesItsSection() {
        for (line, expected) in [("", "'reference' is missing"), ("reference: 5.1.10\n", "names no section")] {
            let (_, problems) = Samples.load("title: t\npurpose: p\n" + line + "steps:\n  - {wait: 1 s, states: s}")
            #expect(problems.contains { $0.text.contains(expected) }, "\(problems.map(\.description))")
        }
    }

    /// Without tables of public test cases beside the suites, a case may name any requirement.
    @Test(arguments: ["REQ-12", "ESS 3.1", "IEC 62304 5.1", "https://example.org/req#12", "Core Vol 6, Part B, 5.1.10"])
    func aCaseOfAUserNamesItsRequirement(_ reference: String) {
        var vocabulary = Samples.vocabulary
        vocabulary.covers = nil
        let (_, problems) = Samples.load(
            "title: t\npurpose: p\nreference: \(reference)\nsteps:\n  - {send: Reset, as: tester, states: s}", vocabulary)
        #expect(problems.isEmpty, "\(problems.map(\.description))")
    }

    /// A case with several mistakes, and all of them, in order: what follows from an unreadable step is not among them.
    static let severalMistakes: [(String, [String])] = [
        (
            "title: t\npurpose: p\nreference: here\nsteps:\n  - {check: $lnk, is: 1, states: s}",
            ["'here' names no section", "nothing is saved as 'lnk'"]
        ),
        (
            "title: t\npurpose: p\nreference: Core Vol 6, Part B, 5.1.10\nparameters: {y: 1}\nsteps:\n"
                + "  - {do: conect, as: tester, with: {to: $y}, saveAs: link}\n  - {check: $link.handle, is: 1}\n  - {check: $lnk, is: 1}",
            ["there is no action 'conect'", "nothing is saved as 'lnk'"]
        ),
        (
            Samples.head("steps:\n  - {send: Resett, as: tester, saveAs: x}\n  - {check: $x.Status, is: Success, states: s}"),
            ["there is no PDU 'Resett'"]
        ),
    ]

    @Test(arguments: severalMistakes) func allMistakesAreFoundAtOnce(_ text: String, _ expected: [String]) {
        let found = Samples.load(text).problems.sorted { $0.position.line < $1.position.line }.map(\.text)
        #expect(found.count == expected.count && zip(found, expected).allSatisfy { $0.contains($1) }, "\(found)")
    }

    @Test func whatAnAttemptAndAnElementGiveIsKnownAfterwards() throws {
        let body = """
            needs: subject.LE_Set_PHY and not tester.LE_Read_PHY
            steps:
              - attempts: 3
                steps:
                  - {send: Reset, as: tester, saveAs: x}
                between:
                  - {check: $x.Status, is: Success, otherwise: not applicable}
              - {expect: LE_Advertising_Report, as: tester, where: {Reports: {some: {RSSI: 3}}}, saveAs: r}
              - {check: $r.match.RSSI, is: $x.Status, states: s, otherwise: inconclusive}
            """
        let (loaded, problems) = Samples.load(Samples.head(body))
        #expect(problems.isEmpty, "\(problems)")
        let steps = try #require(loaded).steps
        #expect(steps.map(\.otherwise) == [nil, nil, .inconclusive])
        #expect(steps.first?.inner.count == 2)
    }

    @Test func aRoundIsACaseOfItsOwn() throws {
        let (loaded, problems) = Samples.load(
            Samples.head(
                "parameters: {x: {default: 1, range: [1, 4]}}\nrounds: [{x: 2}, {x: 3}]\nsteps:\n  - {check: $x, is: 1, states: s}"))
        #expect(problems.isEmpty, "\(problems)")
        let rounds = try #require(loaded).unrolled
        #expect(rounds.map(\.id) == ["phy/case[x=2]", "phy/case[x=3]"])
        #expect(rounds.map(\.file) == ["phy/case", "phy/case"])
        #expect(rounds.map { $0.parameters.map(\.initial) } == [[.number(2)], [.number(3)]])
    }

    @Test func aSpanMayBeAParameter() throws {
        let body = """
            parameters:
              gap: {default: 5 ms, range: [0 ms, 40 ms]}
              events: {default: 6, range: [1, 9]}
            rounds:
              gap: {from: 0 ms, to: 25 ms, step: 12500 us}
              events: [6, 9]
            steps:
              - {wait: $gap}
              - {expect: LE_PHY_Update_Complete, as: tester, after: $gap, within: $events connection events, states: It comes.}
            """
        let (loaded, problems) = Samples.load(Samples.head(body))
        #expect(problems.isEmpty, "\(problems)")
        let rounds = try #require(loaded).unrolled
        let ids = [
            "gap=0s,events=6", "gap=0s,events=9", "gap=12.5ms,events=6", "gap=12.5ms,events=9", "gap=25ms,events=6", "gap=25ms,events=9",
        ]
        #expect(rounds.map(\.id) == ids.map { "phy/case[\($0)]" })
        guard case .wait(let length)? = rounds[2].steps.first?.kind, case .expect(let expectation)? = rounds[2].steps.last?.kind else {
            throw Problem(Position(file: "", line: 1, column: 1), "not the steps of the case")
        }
        var variables = Variables()
        for parameter in rounds[2].parameters { variables[parameter.name] = parameter.initial }
        #expect(try length.resolved(variables) == .time(Microseconds(12_500)))
        #expect(try expectation.window?.within?.resolved(variables) == .connectionEvents(6))
        #expect(length.text == "$gap" && expectation.window?.within?.text == "$events connection events")
    }

    @Test(arguments: mistakes)
    func aMistakeIsNamedWithItsPlace(_ body: String, _ expected: String) {
        let (_, problems) = Samples.load(Samples.head(body))
        #expect(problems.contains { $0.description.contains(expected) }, "\(problems.map(\.description))")
        #expect(problems.allSatisfy { $0.position.line >= 1 && $0.position.column >= 1 })
    }

    @Test(arguments: [
        ("20 ms", 20_000), ("1.5 s", 1_500_000), ("625us", 625), ("2 min", 120_000_000), ("0 s", 0),
    ])
    func durations(_ text: String, _ microseconds: Int) {
        #expect(SourceReader.duration(text) == Microseconds(microseconds))
    }

    @Test(arguments: ["", "5", "-1 ms", "ms", "1e300 s", "nan s", "5 m"])
    func notDurations(_ text: String) {
        #expect(SourceReader.duration(text) == nil)
    }

    /// Truncating a valid case at any position, or changing a character, yields problems and never a trap.
    @Test func damagedCasesAreReported() {
        var random = SystemRandomNumberGenerator.seeded(1)
        let characters = Array(Self.good)
        for cut in stride(from: 0, to: characters.count, by: 7) { _ = Samples.load(String(characters[..<cut])) }
        for _ in 0..<300 {
            var damaged = characters
            damaged[Int(random.next() % UInt64(damaged.count))] = ["$", "{", "[", "\n", ":", "-", "é", "\u{0}"][Int(random.next() % 8)]
            _ = Samples.load(String(damaged))
        }
    }
}
