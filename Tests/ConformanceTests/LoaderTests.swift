import Packets
import Testing

@testable import Conformance

struct LoaderTests {
    static let good = """
        title: The controller asks for 2M
        purpose: A host's LE_Set_PHY leads to the asked PHY.
        covers: {LL/CON/PER/BV-40-C: partial}
        needs: tester.LE_2M_PHY and not (subject.LE_Coded_PHY or air)
        parameters:
          phy: {default: 2, range: [1, 4], about: asked}
        limits: {step: 3 s, case: 1 min}
        world: {packetErrorRate: 0.1, subject: {maxOctets: 27}}
        steps:
          - send: LE_Set_PHY
            as: subject
            with: {Connection_Handle: 64, TX_PHYS: $phy, RX_PHYS: 0x02}
            answer: {Status: Success}
            name: ask
          - expect: LE_PHY_Update_Complete
            as: subject
            where: {Status: 0, TX_PHY: LE_2M, RX_PHY: {anyOf: [1, 2]}}
            within: 20 connection events
            since: ask
            states: The PHY is 2M.
          - repeat: 3
            counter: i
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
        #expect(testCase.steps[1].position.line == 15)
    }

    /// The body of a case, and what is said about it.
    static let mistakes: [(String, String)] = [
        ("steps:\n  - sned: Reset\n    as: tester", "case.yaml:4:5: a step begins with one of"),
        ("steps:\n  - sned: Reset\n    as: tester", "did you mean send?"),
        ("steps:\n  - send: Rest\n    as: tester", "case.yaml:4:11: there is no PDU 'Rest'; did you mean Reset?"),
        (
            "steps:\n  - send: LE_Set_PHY\n    as: tester\n    with: {TX_PHY: 2}",
            "6:12: LE_Set_PHY has no field 'TX_PHY'; did you mean TX_PHYS?"
        ),
        ("steps:\n  - send: LE_Set_PHY\n    as: testre", "neither tester nor subject"),
        ("steps:\n  - send: LE_Set_PHY", "does not say who"),
        (
            "steps:\n  - expect: LE_PHY_Update_Complete\n    as: tester\n    where: {TX_PHY: LE_3M}",
            "TX_PHY has no value 'LE_3M'; did you mean LE_2M?"
        ),
        ("steps:\n  - expect: LE_PHY_Update_Complete\n    as: tester\n    within: 5 sec", "'5 sec' is no span"),
        ("steps:\n  - expect: LE_PHY_Update_Complete\n    as: tester\n    since: nowhere", "no step has the name 'nowhere'"),
        ("steps:\n  - expect: LE_Set_PHY\n    as: tester", "LE_Set_PHY cannot be used here"),
        ("steps:\n  - do: conect\n    as: tester", "there is no action 'conect'; did you mean connect?"),
        ("steps:\n  - do: connect\n    as: tester", "connect needs 'to': whom"),
        (
            "steps:\n  - do: connect\n    as: tester\n    with: {to: 180D, interval: 5}",
            "6:22: connect needs a number of 6 to 3200 after 'interval', not 5"
        ),
        ("steps:\n  - do: connect\n    as: tester\n    with: {to: whom}", "6:12: connect needs a UUID after 'to', not whom"),
        ("steps:\n  - check: $nothing.x\n    is: 1", "nothing is saved as 'nothing'"),
        ("steps:\n  - send: Reset\n    as: tester", "no step has `states:`"),
        ("steps: []", "the case has no steps"),
        ("covers: {LL/CON/PER/BV-41-C: full}\nsteps: []", "there is no public case 'LL/CON/PER/BV-41-C'; did you mean LL/CON/PER/BV-40-C?"),
        ("needs: tester.LE_3M_PHY\nsteps: []", "there is no feature 'tester.LE_3M_PHY'; did you mean tester.LE_2M_PHY?"),
        ("tags: [usbb]\nsteps: []", "3:8: there is no tag 'usbb'; did you mean usb?"),
        ("tags: [usb]\nneeds: air\nsteps: []", "3:8: it cannot have the tag 'usb': the case needs the simulation"),
        ("tags: [usb]\nworld: {packetErrorRate: 0.1}\nsteps: []", "it cannot have the tag 'usb': the case sets up the simulated world"),
        ("needs: tester.LE_2M_PHY and\nsteps: []", "the name of a feature is missing"),
        ("parameters: {n: {default: 9, range: [1, 4]}}\nsteps: []", "9 is outside the parameter's range of 1 to 4"),
        ("world: {packetErrorRate: 2}\nsteps: []", "from 0 to 1"),
        ("world: {tester: {maxOctet: 27}}\nsteps: []", "there is no setting 'maxOctet'; did you mean maxOctets?"),
        ("subject: accesory\nsteps: []", "did you mean accessory?"),
        ("subject: accessory\nsteps:\n  - {send: Reset, as: subject}", "an accessory has no HCI of its own here"),
        ("stesp: []", "a case has no 'stesp'; did you mean steps?"),
        ("steps:\n  - {air: expect, pdu: LL_LENGTH_REQ, as: tester, states: s}", "must say `needs: air`"),
        ("steps:\n  - {send: ATT_READ_REQ, as: tester, with: {Attribute_Handle: 1}}", "needs a connection"),
        ("steps: [\n", "not YAML"),
        ("steps: []\nsteps: []", "the same name twice"),
    ]

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

    /// Cutting a good case anywhere, or changing a character, gives problems and never a trap.
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
