import BBHCI
import BBPackets
import Testing

@testable import BBTraffic

/// Events that have no cause: failures of the hardware, overflows and answers.
struct EventCauseTests {
    enum Step: Sendable {
        case event(HCIPacket)
        /// Data of no connection.
        case data(HCIPacket.Kind)
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var steps: [Step]
        /// A part of the rule or of what was got; nil if nothing is violated.
        var says: String?

        init(_ testDescription: String, _ steps: [Step], says: String? = nil) {
            (self.testDescription, self.steps, self.says) = (testDescription, steps, says)
        }
    }

    private static func overflow(_ type: UInt8) -> Step { .event(HCIPacket(.event, [0x1A, 1, type])) }
    private static let crash = Step.event(HCIPacket(event: HCIEvents.HardwareError(hardwareCode: 7)))

    static let failures: [Row] = [
        Row("a crash", [crash], says: "Hardware_Code 7"),
        Row("too much data", [overflow(1)], says: "Link_Type 1"),
        Row("too many streams", [overflow(2)], says: "Link_Type 2"),
        Row("too much voice", [overflow(0)]),
        Row("data of no connection", [.data(.acl), overflow(1)]),
        Row("streams of no connection do not fill the buffers for data", [.data(.iso), overflow(1)], says: "Link_Type 1"),
        Row(
            "an answer to a vendor's command that was not sent", [.event(HCIPacket(completeOpcode: 0xFC3F, returns: [0]))], says: "another"),
        Row("an answer to a command that was not sent", [.event(HCIPacket(statusOpcode: 0x0405, .success))], says: "another"),
        Row("an answer to No_Operation", [.event(HCIPacket(completeOpcode: 0, returns: []))]),
        Row("an answer to an unknown command", [.event(HCIPacket(completeOpcode: 0xFFFF, returns: [1]))]),
    ]

    @Test(arguments: failures) func anEventHasACause(_ row: Row) throws {
        var rules = HCIRules()
        rules.reset()
        for (number, step) in row.steps.enumerated() {
            switch step {
            case .data(let kind): rules.sentUncounted(kind)
            case .event(let event): try receive(event, number, &rules)
            }
        }
        let violation = rules.violation
        #expect((violation == nil) == (row.says == nil), "\(violation?.rule ?? "")")
        guard let violation, let says = row.says else { return }
        #expect("\(violation.rule) \(violation.wanted) \(violation.got)".contains(says))
        #expect(violation.packet?.number == row.steps.count - 1)
    }

    private func receive(_ event: HCIPacket, _ number: Int, _ rules: inout HCIRules) throws {
        rules.received(event, number) { _ in true }
        guard let answer = try CommandAnswer(event: event) else { return }
        rules.answered(answer, to: nil, event, number)
    }
}
