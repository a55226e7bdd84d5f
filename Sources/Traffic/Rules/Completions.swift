import BBHCI
import BBPackets

/// Counts the events that complete a command: each comes at most once for a command. Core Vol 4, Part E, 4.4.
struct Completions: Sendable {
    /// Commands without their event, by the first version of the event.
    private var outstanding: [PDUID: Int] = [:]
    /// Each inquiry of Periodic Inquiry Mode ends with Inquiry_Complete. Core Vol 4, Part E, 7.1.3 and 7.7.1.
    private var isInquiringPeriodically = false

    mutating func reset() {
        outstanding.removeAll()
        isInquiringPeriodically = false
    }

    mutating func sent(_ command: HCIPacket) {
        if command.commandOpcode == HCICommands.PeriodicInquiryMode.opcode { isInquiringPeriodically = true }
        if let event = command.id.flatMap(Self.event) { outstanding[event, default: 0] += 1 }
    }

    mutating func answered(_ answer: CommandAnswer) {
        let isRefused = answer.status != .success && answer.status != .commandDisallowed
        switch answer.opcode {
        case HCICommands.PeriodicInquiryMode.opcode where isRefused: isInquiringPeriodically = false
        case HCICommands.ExitPeriodicInquiryMode.opcode where answer.status == .success: isInquiringPeriodically = false
        default: break
        }
        guard answer.kind == .status, answer.status != .success else { return }
        if let event = Self.event(completing: PDUID(.hciCommands, code: Int(answer.opcode))) { take(event) }
    }

    /// Returns the command that an event completes, if all of its kind were completed before; nil for any other event.
    mutating func completed(_ event: HCIPacket) -> PDUDeclaration? {
        guard let id = event.id, !id.comesUnasked, let command = id.completes.first, let first = id.versions.first else { return nil }
        if take(first) || command == HCICommands.Inquiry.id && isInquiringPeriodically { return nil }
        return PDUCatalog.declaration(command)
    }

    @discardableResult
    private mutating func take(_ event: PDUID) -> Bool {
        guard let count = outstanding[event], count > 0 else { return false }
        outstanding[event] = count - 1
        return true
    }

    /// The first version of the event that a command causes, and nothing else; nil for other commands.
    private static func event(completing command: PDUID) -> PDUID? { command.completedBy.first { !$0.comesUnasked }?.versions.first }
}
