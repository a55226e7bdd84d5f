import BBCases
import BBHCI
import BBPackets
import BBVirtualDongle
import Testing

@testable import BBConformance

/// A fault of a dongle is an observation if it is the tester's, and a FAIL if it is the subject's.
struct BlameTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var quirk: String
        var id: String
        /// Verdict with the switch on the subject.
        var subject: Verdict
        /// Verdict with the switch on the tester: never FAIL.
        var tester = Verdict.pass
        var testDescription: String { "\(quirk) in \(id)" }
    }

    static let rows: [Row] = [
        Row(quirk: "status-for-complete", id: "hci/buffer-size", subject: .fail),
        Row(quirk: "status-for-complete", id: "gap-conn/data-both-ways", subject: .fail),
        Row(quirk: "credits-excess", id: "hci/completed-packets[size=few]", subject: .fail),
        Row(quirk: "credits-excess", id: "gap-conn/data-both-ways", subject: .fail, tester: .inconclusive),
        Row(quirk: "silent=LE_Rand", id: "hci/random-numbers", subject: .fail),
        Row(quirk: "refuses=LE_Rand", id: "hci/random-numbers", subject: .fail),
        Row(quirk: "wrong-opcode=all", id: "hci/unsupported-command", subject: .fail),
        Row(quirk: "refuses=LE_Encrypt", id: "hci/encrypt", subject: .fail),
        Row(quirk: "silent=LE_Encrypt", id: "hci/encrypt", subject: .fail),
        Row(quirk: "acl-debug", id: "gap-conn/data-both-ways", subject: .pass),
        Row(quirk: "vendor-events", id: "gap-conn/data-both-ways", subject: .pass),
        Row(quirk: "credits-by-noop", id: "gap-conn/data-both-ways", subject: .pass),
        Row(quirk: "noop-first", id: "hci/random-numbers", subject: .pass),
        Row(quirk: "reserved-report-bits", id: "gap-adv/connectable-is-found", subject: .pass),
        Row(quirk: "reserved-report-bits", id: "gap-scan/report-fields[events=undirected,channel=37]", subject: .fail),
        Row(quirk: "reserved-phy-bits", id: "gap-adv/secondary-2m", subject: .pass),
        Row(quirk: "completed-packets-masked", id: "gap-conn/data-both-ways", subject: .pass),
        Row(quirk: "completed-packets-masked", id: "hci/completed-packets[size=few]", subject: .fail),
        Row(quirk: "acl-after-disconnect", id: "hci/reset-while-connected[role=central]", subject: .pass),
    ]

    @Test(arguments: rows) func theSubjectIsJudged(_ row: Row) throws {
        let result = try Trial.run(row.id, try DongleConduct([row.quirk]), at: .subject)
        #expect(result.verdict == row.subject, "\(result.message)")
        if row.subject == .fail { #expect(result.failedStep?.requirement != nil, "\(result.message)") }
    }

    @Test(arguments: rows) func theTesterIsNot(_ row: Row) throws {
        let result = try Trial.run(row.id, try DongleConduct([row.quirk]), at: .tester)
        #expect(result.verdict == row.tester, "\(result.message)")
        if row.tester == .inconclusive { #expect(result.message.contains("Not held against the subject"), "\(result.message)") }
    }

    /// A late step of the bench may come too late for the subject, which is not judged then.
    @Test(arguments: [(Microseconds.zero, Verdict.fail), (.seconds(9), .inconclusive)])
    func aLateBenchJudgesNobody(_ lateness: Microseconds, _ verdict: Verdict) throws {
        let constant = HCIPacket(completeOpcode: HCICommands.LERand.opcode, returns: [UInt8](repeating: 0, count: 9))
        let result = try Trial.run("hci/random-numbers", lateness: lateness) { direction, packet in
            let isAnswer =
                direction == .toHost && (try? packet.event(as: HCIEvents.CommandComplete.self))?.commandOpcode == HCICommands.LERand.opcode
            return [isAnswer ? constant : packet]
        }
        #expect(result.verdict == verdict && result.message.contains("9 s late after a wait") == (verdict == .inconclusive))
    }

    /// The limit of a step holds for each answer: a pipe that keeps each of many for 600 ms is not a device that does not answer.
    @Test(arguments: Side.allCases) func manyAnswersInTimeAreNotLate(_ side: Side) throws {
        let result = try Trial.run("gatt/characteristics", try DongleConduct(["joins-packets=600"]), at: side)
        #expect(result.verdict != .fail && !result.message.contains("was not received"), "\(result.message)")
    }

    /// A device that answers the first requests of a search and not the others is late.
    @Test func anAnswerThatDoesNotComeIsLate() throws {
        var requests = 0
        let result = try Trial.run("gatt/characteristics", at: .subject) { direction, packet in
            guard direction == .toHost, packet.kind == .acl, packet.bytes.dropFirst(8).first == 0x08 else { return [packet] }
            requests += 1
            return requests <= 3 ? [packet] : []
        }
        #expect(result.verdict == .fail && result.message.contains("response was not received within the limit"), "\(result.message)")
    }

    /// A window that the case does not last for is no time in which the subject was silent.
    @Test(arguments: [(80, Verdict.fail), (100, .inconclusive)]) func aCaseEndsBeforeTheWindow(_ seconds: Int, _ verdict: Verdict) throws {
        let text = """
            title: t
            purpose: p
            reference: Core Vol 4, Part E, 7.7.5
            limits: {step: 2 min, case: 2 min}
            setup:
              - use: connected
                saveAs: link
            steps:
              - wait: \(seconds) s
              - expect: Disconnection_Complete
                as: subject
                within: 30 s
                states: The connection ends.
            """
        let result = try Trial.run("phy/made", catalogue: try Trial.catalogue(with: text)) { [$1] }
        #expect(result.verdict == verdict, "\(result.message)")
        #expect(result.message.contains("the time of the case was over before") == (verdict == .inconclusive), "\(result.message)")
    }

    /// A failure of the tester leaves the case without a verdict about the subject, and is named.
    @Test(arguments: ["hardware-error=1", "mute-after-commands=14", "silent=LE_Create_Connection", "refuses=LE_Create_Connection"])
    func aTesterThatIsNoWitness(_ quirk: String) throws {
        let result = try Trial.run("gap-conn/data-both-ways", try DongleConduct([quirk]), at: .tester)
        #expect(
            result.verdict == .inconclusive || result.verdict == .notApplicable || result.verdict == .pass,
            "\(result.verdict): \(result.message)")
        #expect(result.verdict == .pass || !result.message.isEmpty || !result.notes.isEmpty)
    }

    /// An event that the tester's controller must send to its host is not the subject's duty, unless a step says so.
    @Test func anEventThatTheTesterDoesNotTell() throws {
        let id = "gap-conn/accept-list-advertiser[initiator=public,entry=low-octet,policy=connections]"
        let result = try Trial.run(id, at: .tester) { direction, packet in
            direction == .toHost && packet.eventCode == HCIEvents.DisconnectionComplete.code ? [] : [packet]
        }
        #expect(result.verdict == .inconclusive && result.message.contains("Disconnection_Complete at the tester"), "\(result.message)")
    }

    /// The requirement of a use is that of the procedure's steps that have none: their missing events are then held against the subject.
    @Test(arguments: [("states: The subject ends the link.", Verdict.fail), ("limit: 20 s", .inconclusive)])
    func aUseStatesTheRequirementOfItsSteps(key: String, verdict: Verdict) throws {
        let text = """
            title: t
            purpose: p
            reference: Core Vol 4, Part E, 7.7.5
            setup:
              - use: connected
                saveAs: link
            steps:
              - mark: begin
              - use: told-disconnected
                \(key)
              - send: LE_Rand
                as: subject
                answer: {Status: Success}
                states: A command is answered.
            """
        let procedure = """
            about: The tester's host is told the end of the link.
            steps:
              - {expect: Disconnection_Complete, as: tester, within: 1 s}
            """
        let result = try Trial.run("phy/made", catalogue: try Trial.catalogue(with: text, procedure: ("told-disconnected", procedure))) {
            [$1]
        }
        #expect(result.verdict == verdict, "\(result.message)")
        #expect(result.message.contains("The subject ends the link") == (verdict == .fail), "\(result.message)")
    }

    /// A FAIL that the tester's dongle may have caused is INCONC, and the message names both.
    @Test func aFailBesideACrashIsNone() {
        var record = TesterReliability()
        #expect(record.impediment { _ in true } == nil)
        record.crashed(7, at: .tester)
        record.leftUnanswered(HCICommands.Reset.opcode, number: 9, at: .tester)
        #expect(record.impediment { _ in true }?.packet == 7)
    }
}
