import BBCases
import BBHCI
import BBPackets

/// Judges a controller's packets by the rules that apply in every case, and keeps the first violation.
struct HCIConduct {
    private let side: Side
    private(set) var violation: ConductViolation?
    /// The commands that were given up: their answers may still come.
    private var abandoned: Set<UInt16> = []
    private var completions = Completions()
    private var repetitions = Repetitions()
    private var knownDevices = KnownDevices()
    /// Supported_Commands, once the controller has told it.
    private var claims: [UInt8]?
    /// The last answer to a command; the first of an unknown command before the claims are known.
    private var last: Answer?
    private var denied: Answer?
    /// The commands and data outstanding before the first reset are unknown.
    private var wasReset = false

    private struct Answer {
        var answer: CommandAnswer
        var command: HCIPacket
        var event: HCIPacket
        var number: Int
    }

    init(of side: Side) { self.side = side }

    mutating func reset() {
        wasReset = true
        completions.reset()
        repetitions.reset()
        knownDevices.reset()
    }

    mutating func sent(_ command: HCIPacket) {
        completions.sent(command)
        repetitions.sent()
        knownDevices.sent(command)
    }

    /// Judges an event before the connections change with it.
    mutating func received(_ event: HCIPacket, _ number: Int, isOpen: (ConnectionHandle) -> Bool) {
        let excess = completions.completed(event)
        let isRepeated = repetitions.isRepeated(event)
        let isStrange = knownDevices.isAboutStranger(event)
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
            let last = Answer(answer: answer, command: command, event: event, number: number)
            self.last = last
            violation =
                ConductViolation(answer, event, number: number, at: side)
                ?? ConductViolation(answer, to: command, event, number: number, at: side)
                ?? ConductViolation(failed: answer, to: command, event, number: number, at: side)
            if claims == nil, answer.status == .unknownHCICommand, denied == nil { denied = last }
            if answer.opcode == HCICommands.ReadLocalSupportedCommands.opcode, answer.status == .success {
                claims = Array(answer.returns.dropFirst())
            }
            judgeByClaims(denied ?? last)
        } else if wasReset, abandoned.remove(answer.opcode) == nil {
            violation = ConductViolation(strayAnswer: answer, event, number: number, at: side)
        }
    }

    /// - Parameters:
    ///   - number: the command's number in the capture.
    ///   - isOverdue: true if the time for the answer is over.
    mutating func abandoned(_ command: HCIPacket, _ number: Int, isOverdue: Bool) {
        if let opcode = command.commandOpcode { abandoned.insert(opcode) }
        guard isOverdue, wasReset || command.commandOpcode == HCICommands.Reset.opcode, violation == nil else { return }
        violation = ConductViolation(unanswered: command, number: number, at: side)
    }

    /// Judges a command that the controller has not allowed for too long.
    mutating func withheld(_ command: HCIPacket) {
        guard wasReset, violation == nil, let last else { return }
        violation = ConductViolation(withheld: command, after: last.event, number: last.number, at: side)
    }

    private mutating func judgeByClaims(_ answer: Answer) {
        guard violation == nil, let claims else { return }
        denied = nil
        violation = ConductViolation(answer.answer, to: answer.command, claims, answer.event, number: answer.number, at: side)
    }

    mutating func completed(_ excess: OutstandingPackets.Excess, _ event: HCIPacket, _ number: Int) {
        guard wasReset, violation == nil else { return }
        violation = ConductViolation(excess, event, number: number, at: side)
    }
}
