import BBHCI
import BBPackets
import Testing

@testable import BBTraffic

/// Events that have no cause: failures of the hardware, overflows, answers, masked events, and scan requests that nobody asked for.
struct EventCauseTests {
    enum Step: Sendable {
        /// A command with its answer, which is Command Complete with a Status.
        case done(HCIPacket, ErrorCode = .success)
        case sent(HCIPacket)
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

    private static let other = Step.done(HCIPacket(command: HCICommands.ReadBDADDR()))
    private static let reset = Step.done(HCIPacket(command: HCICommands.Reset()))
    private static func le(_ mask: LEEventMask) -> HCIPacket { HCIPacket(command: HCICommands.LESetEventMask(leEventMask: mask)) }
    private static func page1(_ mask: EventMask) -> HCIPacket { HCIPacket(command: HCICommands.SetEventMask(eventMask: mask)) }
    private static func overflow(_ type: UInt8) -> Step { .event(HCIPacket(.event, [0x1A, 1, type])) }
    private static let crash = Step.event(HCIPacket(event: HCIEvents.HardwareError(hardwareCode: 7)))
    private static let timeout = Step.event(HCIPacket(event: HCIEvents.LEScanTimeout()))
    private static let inquiry = Step.event(HCIPacket(.event, [0x02, 1, 0]))
    private static let scanRequest = Step.event(HCIPacket(.event, [0x3E, 9, 0x13, 3, 0, 1, 2, 3, 4, 5, 6]))
    /// LE_Set_Extended_Advertising_Parameters of a set.
    private static func advertising(_ set: UInt8, notifies: UInt8) -> HCIPacket {
        HCIPacket(opcode: 0x2036, parameters: [set] + [UInt8](repeating: 0, count: 23) + [notifies])
    }
    private static let leMeta = page1([.leMeta, .hardwareError, .dataBufferOverflow, .inquiryResult])
    private static let masked = "masked"
    private static let enabled: [Step] = [.done(leMeta), .done(le([.leScanTimeout, .leScanRequestReceived])), other]

    static let failures: [Row] = [
        Row("a crash", [crash], says: "Hardware_Code 7"),
        Row("too much data", [overflow(1)], says: "Link_Type 1"),
        Row("too many streams", [overflow(2)], says: "Link_Type 2"),
        Row("too much voice", [overflow(0)]),
        Row("data of no connection", [.data(.acl), overflow(1)]),
        Row("streams of no connection do not fill the buffers for data", [.data(.iso), overflow(1)], says: "Link_Type 1"),
        Row(
            "an answer to a vendor's command that was not sent", [.event(HCIPacket(completeOpcode: 0xFC3F, returns: [0]))], says: "another"),
        Row(
            "a second answer to a vendor's command",
            [.sent(HCIPacket(opcode: 0xFC20, parameters: [])), .event(HCIPacket(completeOpcode: 0xFC3F, returns: [0]))]),
        Row("an answer to a command that was not sent", [.event(HCIPacket(statusOpcode: 0x0405, .success))], says: "another"),
        Row("an answer to No_Operation", [.event(HCIPacket(completeOpcode: 0, returns: []))]),
        Row("an answer to an unknown command", [.event(HCIPacket(completeOpcode: 0xFFFF, returns: [1]))]),
    ]

    static let masks: [Row] = [
        Row("LE events are masked by Reset", [reset, other, timeout], says: masked),
        Row("an event on its way at a Reset", [.done(leMeta), .done(le(.leScanTimeout)), other, reset, timeout]),
        Row("enabled", enabled + [timeout]),
        Row("masked on both pages", enabled + [.done(le([])), .done(page1([])), other, timeout], says: masked),
        Row("masked by the LE mask", enabled + [.done(le([])), other, timeout], says: masked),
        Row("masked by LE_Meta", enabled + [.done(page1(.inquiryResult)), other, timeout], says: masked),
        Row("an event on its way at a change", enabled + [.done(le([])), timeout]),
        Row("a mask that was refused", enabled + [.done(le([]), .invalidHCICommandParameters), other, timeout]),
        Row("a mask that is not answered yet", enabled + [.sent(le([])), other, timeout]),
        Row("an inquiry is enabled by default", [reset, other, inquiry]),
        Row("an inquiry", [.done(page1(.leMeta)), other, inquiry], says: masked),
    ]

    static let scans: [Row] = [
        Row("no set", enabled + [scanRequest], says: "set 3"),
        Row("a set that notifies", enabled + [.done(advertising(3, notifies: 1)), scanRequest]),
        Row("a set that does not", enabled + [.done(advertising(3, notifies: 0)), scanRequest], says: "set 3"),
        Row("another set", enabled + [.done(advertising(2, notifies: 1)), scanRequest], says: "set 3"),
        Row("refused", enabled + [.done(advertising(3, notifies: 1), .commandDisallowed), scanRequest], says: "set 3"),
        Row(
            "no longer",
            enabled + [.done(advertising(3, notifies: 1)), .done(advertising(3, notifies: 0)), other, scanRequest], says: "set 3"),
        Row("an event on its way", enabled + [.done(advertising(3, notifies: 1)), .done(advertising(3, notifies: 0)), scanRequest]),
        Row(
            "removed",
            enabled + [.done(advertising(3, notifies: 1)), .done(HCIPacket(opcode: 0x203C, parameters: [3])), other, scanRequest],
            says: "set 3"),
        Row(
            "cleared",
            enabled + [.done(advertising(3, notifies: 1)), .done(HCIPacket(opcode: 0x203D, parameters: [])), other, scanRequest],
            says: "set 3"),
        Row(
            "an event on its way when all sets are cleared",
            enabled + [.done(advertising(3, notifies: 1)), .done(HCIPacket(opcode: 0x203D, parameters: [])), scanRequest]),
    ]

    @Test(arguments: failures + masks + scans) func anEventHasACause(_ row: Row) throws {
        var rules = HCIRules()
        rules.reset()
        for (number, step) in row.steps.enumerated() {
            switch step {
            case .sent(let command): rules.sent(command)
            case .data(let kind): rules.sentUncounted(kind)
            case .done(let command, let status):
                let event = HCIPacket(completeOpcode: try #require(command.commandOpcode), returns: [status.rawValue])
                rules.sent(command)
                try receive(event, number, answering: command, &rules)
            case .event(let event): try receive(event, number, answering: nil, &rules)
            }
        }
        let violation = rules.violation
        #expect((violation == nil) == (row.says == nil), "\(violation?.rule ?? "")")
        guard let violation, let says = row.says else { return }
        #expect("\(violation.rule) \(violation.wanted) \(violation.got)".contains(says))
        #expect(violation.packet?.number == row.steps.count - 1)
    }

    private func receive(_ event: HCIPacket, _ number: Int, answering command: HCIPacket?, _ rules: inout HCIRules) throws {
        rules.received(event, number) { _ in true }
        guard let answer = try CommandAnswer(event: event) else { return }
        if answer.opcode == HCICommands.Reset.opcode, answer.status == .success { rules.reset() }
        rules.answered(answer, to: command, event, number)
    }
}
