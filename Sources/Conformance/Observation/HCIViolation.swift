import Capture
import HCI
import Packets

/// What a controller did against the rules that hold for every command and all data, whatever a case is about.
struct HCIViolation: Sendable {
    /// The rule, with its section.
    var rule: String
    var text: String
    var evidence: [Evidence]

    /// Command Status in the place of Command Complete, or the reverse; nil for a right answer.
    ///
    /// - Parameter number: of the event in the capture.
    init?(_ answer: CommandAnswer, _ event: HCIPacket, number: Int, at side: Side) {
        guard let owed = answer.owedInstead else { return nil }
        let command = PDUCatalog.command(opcode: answer.opcode)?.name ?? ""
        rule = "\(command) is answered by \(owed.eventName) (Core Vol 4, Part E, \(owed.section))."
        text = "\(command) of the \(side.rawValue): expected \(owed.eventName), got \(answer.kind.eventName) (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    init(_ excess: OutstandingPackets.Excess, _ event: HCIPacket, number: Int, at side: Side) {
        rule = "Number_Of_Completed_Packets tells of each data packet once, on its handle (Core Vol 4, Part E, 7.7.19)."
        let handle = "handle \(excess.handle.rawValue)"
        let most = excess.isKnown ? "at most \(excess.outstanding) completed on \(handle)" : "none completed on \(handle), which never was"
        text = "Number_Of_Completed_Packets of the \(side.rawValue): expected \(most), got \(excess.reported) (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    private static func evidence(_ event: HCIPacket, _ number: Int, _ side: Side) -> Evidence {
        var decoder = PacketDecoder()
        return Evidence(packet: number, side: side.rawValue, text: decoder.decode(event, .controllerToHost).description)
    }
}

extension CommandAnswer.Kind {
    fileprivate var eventName: String {
        switch self {
        case .status: HCIEvents.CommandStatus.name
        case .complete: HCIEvents.CommandComplete.name
        }
    }

    fileprivate var section: String { self == .status ? "7.7.15" : "7.7.14" }
}
