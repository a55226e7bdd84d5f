import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// Judges a controller by the rules that apply to all commands and events, from its first reset in the capture on.
struct ControllerRules {
    private var rules = HCIRules()
    private var tracker = ConnectionTracker()
    private var outstanding: [UInt16: HCIPacket] = [:]
    private var isReported = false
    private var events = 0
    /// True for a capture of a run, whose subject is judged by the same rules.
    private let isOfBench: Bool
    /// True if the packets of two controllers are mixed, or if packets are missing.
    private var isUnreliable = false

    private static let most = 256
    /// A fault of a controller shows early; a long capture elsewhere is not slowed down by the search.
    private static let mostEvents = 10_000

    /// A capture may begin after the host has set its masks, and some tools leave these commands out: until the host sets a mask, none
    /// is assumed.
    private mutating func unmask(_ now: Moment) {
        let commands = [
            HCIPacket(command: HCICommands.SetEventMask(eventMask: EventMask(rawValue: .max))),
            HCIPacket(command: HCICommands.LESetEventMask(leEventMask: LEEventMask(rawValue: .max))),
        ]
        for command in commands {
            guard let opcode = command.commandOpcode else { continue }
            let event = HCIPacket(completeOpcode: opcode, returns: [0])
            rules.sent(command)
            if let answer = (try? CommandAnswer(event: event)) ?? nil { rules.answered(answer, to: command, event, now.packet) }
        }
    }

    init(isOfBench: Bool) { self.isOfBench = isOfBench }

    /// The host has sent what the controller cannot take: what it does from then on is not judged.
    mutating func excuse() { if !isOfBench { isUnreliable = true } }

    mutating func sent(_ command: HCIPacket) {
        guard !isReported, !isUnreliable, let opcode = command.commandOpcode else { return }
        rules.sent(command)
        _ = tracker.sent(command)
        // Several commands of a kind at once are answered in an order that is not followed.
        if outstanding.count >= Self.most || outstanding[opcode] != nil { isUnreliable = true }
        outstanding[opcode] = command
    }

    /// - Returns: the first violation, once.
    mutating func received(_ event: HCIPacket, at now: Moment) -> Observation? {
        guard !isReported, !isUnreliable, isOfBench || events < Self.mostEvents else { return nil }
        events += 1
        rules.received(lengthOf: event, now.packet)
        let connections = tracker.connections
        rules.received(event, now.packet) { connections[$0] != nil }
        if let answer = (try? CommandAnswer(event: event)) ?? nil {
            let command = outstanding.removeValue(forKey: answer.opcode)
            if command == nil, answer.opcode != 0 {
                // A capture with a filter has answers without commands.
                isUnreliable = true
                return nil
            }
            rules.answered(answer, to: command, event, now.packet)
            if answer.opcode == HCICommands.Reset.opcode, answer.status == .success {
                rules.reset()
                outstanding = [:]
                unmask(now)
            }
        }
        let change = (try? tracker.received(event)) ?? nil
        // The same handle opened twice: two controllers in one capture.
        if case .opened(let state)? = change, connections[state.handle] != nil { isUnreliable = true }
        guard let violation = rules.violation, !isUnreliable else { return nil }
        isReported = true
        return Observation(
            .ruleViolated,
            [
                ("PDU", .text(violation.name)), ("Rule", .text(violation.rule)), ("Expected", .text(violation.wanted)),
                ("Got", .text(violation.got)), ("Bench", .number(isOfBench ? 1 : 0)),
                ("Certain", .number(violation.isCertain ? 1 : 0)),
            ], packet: violation.packet?.number)
    }
}
