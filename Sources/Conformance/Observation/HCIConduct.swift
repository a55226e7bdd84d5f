import Cases
import HCI
import Packets

/// Judges a controller's packets by the rules that apply in every case, and keeps the first violation.
struct HCIConduct {
    private let side: Side
    private(set) var violation: ConductViolation?
    /// The commands that were given up: their answers may still come.
    private var abandoned: Set<UInt16> = []
    private var completions = Completions()
    private var repetitions = Repetitions()
    private var acquaintances = Acquaintances()
    /// Supported_Commands, once the controller has told it.
    private var claims: [UInt8]?
    /// The commands and data outstanding before the first reset are unknown.
    private var wasReset = false

    init(of side: Side) { self.side = side }

    mutating func reset() {
        wasReset = true
        completions.reset()
        repetitions.reset()
        acquaintances.reset()
    }

    mutating func sent(_ command: HCIPacket) {
        completions.sent(command)
        repetitions.sent()
        acquaintances.sent(command)
    }

    /// Judges an event before the connections change with it.
    mutating func received(_ event: HCIPacket, _ number: Int, isOpen: (ConnectionHandle) -> Bool) {
        let excess = completions.completed(event)
        let isRepeated = repetitions.isRepeated(event)
        let isStrange = acquaintances.isAboutStranger(event)
        guard wasReset, violation == nil else { return }
        violation =
            ConductViolation(event, number: number, at: side, isOpen: isOpen) ?? ConductViolation(valuesOf: event, number: number, at: side)
            ?? excess.map { ConductViolation(event, without: $0, number: number, at: side) }
            ?? (isStrange ? ConductViolation(aboutStranger: event, number: number, at: side) : nil)
            ?? (isRepeated ? ConductViolation(repeated: event, number: number, at: side) : nil)
    }

    mutating func received(data: HCIPacket, _ number: Int) {
        if violation == nil { violation = ConductViolation(data: data, number: number, at: side) }
    }

    /// - Parameter command: the outstanding command that is answered; nil if there is none.
    mutating func answered(_ answer: CommandAnswer, to command: HCIPacket?, _ event: HCIPacket, _ number: Int) {
        completions.answered(answer)
        guard violation == nil else { return }
        if let command {
            violation = ConductViolation(answer, event, number: number, at: side)
            if violation == nil { violation = ConductViolation(answer, to: command, event, number: number, at: side) }
            if violation == nil, let claims { violation = ConductViolation(answer, to: command, claims, event, number: number, at: side) }
            if answer.opcode == HCICommands.ReadLocalSupportedCommands.opcode, answer.status == .success {
                claims = Array(answer.returns.dropFirst())
            }
        } else if wasReset, abandoned.remove(answer.opcode) == nil {
            violation = ConductViolation(strayAnswer: answer, event, number: number, at: side)
        }
    }

    /// - Parameters:
    ///   - number: the command's number in the capture.
    ///   - isOverdue: true if the time for the answer is over.
    mutating func abandoned(_ command: HCIPacket, _ number: Int, isOverdue: Bool) {
        if let opcode = command.commandOpcode { abandoned.insert(opcode) }
        guard isOverdue, wasReset, violation == nil else { return }
        violation = ConductViolation(unanswered: command, number: number, at: side)
    }

    mutating func completed(_ excess: OutstandingPackets.Excess, _ event: HCIPacket, _ number: Int) {
        guard wasReset, violation == nil else { return }
        violation = ConductViolation(excess, event, number: number, at: side)
    }
}
