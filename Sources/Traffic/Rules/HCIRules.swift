import BBHCI
import BBPackets

/// Judges a controller's packets by the rules that apply to all commands, events and data, and keeps the first violation.
public struct HCIRules {
    public private(set) var violation: RuleViolation?
    /// The first violation by which data is lost: the controller reports free buffers that are not free.
    public private(set) var lossOfData: RuleViolation?
    /// The commands that were given up: their answers may still come.
    private var abandoned: Set<UInt16> = []
    private var completions = Completions()
    private var repetitions = Repetitions()
    private var knownDevices = KnownDevices()
    private var maskedEvents = MaskedEvents()
    private var scanRequests = ScanRequestNotifications()
    /// A vendor's command may be answered in other ways. Core Vol 4, Part E, 5.4.1.
    private var hasSentVendorCommand = false
    /// The kinds of data of which packets were sent that no connection counts.
    private var uncounted: Set<HCIPacket.Kind> = []
    /// Supported_Commands, once the controller has told it.
    private var claims: [UInt8]?
    /// The last answer to a command; the first of an unknown command before the claims are known.
    private var last: Answer?
    private var denied: Answer?
    /// The commands and data outstanding before the first reset are unknown.
    private var wasReset = false
    /// True if the host has masked all events of new LE connections since the last reset, so that it does not know every connection.
    private var hidesConnections = false

    private static let connectionEvents: LEEventMask = [
        .leConnectionComplete, .leEnhancedConnectionComplete, .leEnhancedConnectionCompleteV2,
    ]

    private struct Answer {
        var answer: CommandAnswer
        var command: HCIPacket
        var event: NumberedPacket
    }

    public init() {}

    public mutating func reset() {
        wasReset = true
        hidesConnections = false
        completions.reset()
        repetitions.reset()
        knownDevices.reset()
        maskedEvents.reset()
        scanRequests.reset()
        uncounted.removeAll()
    }

    public mutating func sent(_ command: HCIPacket) {
        completions.sent(command)
        maskedEvents.sent(command)
        hasSentVendorCommand = hasSentVendorCommand || command.commandOpcode.map(Self.isVendors) == true
        if let mask = LEEventMask(setBy: command) {
            hidesConnections = hidesConnections || mask.isDisjoint(with: Self.connectionEvents)
        }
        repetitions.sent()
        knownDevices.sent(command)
    }

    /// Notes data of no connection, which the buffers of the controller do not limit.
    public mutating func sentUncounted(_ kind: HCIPacket.Kind) { uncounted.insert(kind) }

    /// Judges the length of an event. It is judged first, because in an event of a wrong length fields are missing or misplaced.
    public mutating func received(lengthOf event: HCIPacket, _ number: Int) {
        guard wasReset, violation == nil else { return }
        violation = RuleViolation(lengthOf: NumberedPacket(event, number))?.certain
    }

    /// Judges an event before the connections change with it.
    public mutating func received(_ event: HCIPacket, _ number: Int, isOpen: (ConnectionHandle) -> Bool) {
        let excess = completions.completed(event)
        let isRepeated = repetitions.isRepeated(event)
        let isStrange = knownDevices.isAboutStranger(event)
        guard wasReset else { return }
        let event = NumberedPacket(event, number)
        let overflow = RuleViolation(overflowIn: event, uncounted)
        lossOfData = lossOfData ?? overflow
        guard violation == nil else { return }
        violation = overflow ?? withoutCause(event)
        guard violation == nil else { return }
        violation =
            (hidesConnections ? nil : RuleViolation(event, isOpen: isOpen)) ?? RuleViolation(valuesOf: event)
            ?? excess.map { RuleViolation(event, without: $0) }
            ?? (isStrange ? RuleViolation(aboutStranger: event) : nil)
            ?? (isRepeated ? RuleViolation(repeated: event) : nil)
    }

    private static func isVendors(_ opcode: UInt16) -> Bool { opcode >> 10 == CommandQueue.vendorGroup }

    private func withoutCause(_ event: NumberedPacket) -> RuleViolation? {
        if let failure = RuleViolation(failureIn: event) { return failure }
        if maskedEvents.contains(event.packet) { return RuleViolation(masked: event) }
        return scanRequests.unwanted(event.packet).map { RuleViolation(event, unwantedOf: $0) }
    }

    /// Judges data of an LE connection.
    public mutating func received(data: HCIPacket, _ number: Int) {
        if violation == nil { violation = RuleViolation(data: NumberedPacket(data, number)) }
    }

    /// - Parameter command: the outstanding command that is answered; nil if there is none.
    public mutating func answered(_ answer: CommandAnswer, to command: HCIPacket?, _ event: HCIPacket, _ number: Int) {
        completions.answered(answer)
        if let command {
            maskedEvents.answered(answer, to: command)
            scanRequests.answered(answer, to: command)
        }
        guard violation == nil else { return }
        let event = NumberedPacket(event, number)
        if let command {
            let last = Answer(answer: answer, command: command, event: event)
            self.last = last
            violation =
                RuleViolation(answer, event)?.certain ?? RuleViolation(answer, to: command, event)?.certain
                ?? RuleViolation(failed: answer, to: command, event)
            if claims == nil, answer.status == .unknownHCICommand, denied == nil { denied = last }
            if answer.opcode == HCICommands.ReadLocalSupportedCommands.opcode, answer.status == .success {
                claims = Array(answer.returns.dropFirst())
            }
            judgeByClaims(denied ?? last)
        } else if wasReset, abandoned.remove(answer.opcode) == nil, !(hasSentVendorCommand && Self.isVendors(answer.opcode)) {
            violation = RuleViolation(strayAnswer: answer, event)
        }
    }

    /// - Parameters:
    ///   - number: the command's number.
    ///   - isOverdue: true if the time for the answer is over.
    public mutating func abandoned(_ command: HCIPacket, _ number: Int, isOverdue: Bool) {
        if let opcode = command.commandOpcode { abandoned.insert(opcode) }
        guard isOverdue, wasReset || command.commandOpcode == HCICommands.Reset.opcode, violation == nil else { return }
        violation = RuleViolation(unanswered: NumberedPacket(command, number))
    }

    /// Judges a command that the controller has not allowed for too long.
    public mutating func withheld(_ command: HCIPacket) {
        guard wasReset, violation == nil, let last else { return }
        violation = RuleViolation(withheld: command, after: last.event)
    }

    private mutating func judgeByClaims(_ answer: Answer) {
        guard violation == nil, let claims else { return }
        denied = nil
        violation = RuleViolation(answer.answer, to: answer.command, claims, answer.event)
    }

    /// Judges packets that were reported as completed.
    public mutating func completed(_ excess: OutstandingPackets.Excess, _ event: HCIPacket, _ number: Int) {
        guard wasReset else { return }
        let excess = RuleViolation(excess, NumberedPacket(event, number))
        violation = violation ?? excess
        lossOfData = lossOfData ?? excess
    }
}
