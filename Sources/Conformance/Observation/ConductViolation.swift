import BBCapture
import BBCases
import BBHCI
import BBPackets

/// A violation by a controller of the rules that apply in every case: to all commands, events and data, and to control PDUs on the air.
struct ConductViolation: Sendable {
    /// The rule with its section.
    var rule: String
    var text: String
    var evidence: [Evidence]
    /// True if the controller reports free buffers that are not free: data for them is lost.
    var isAboutCredits = false

    init(rule: String, text: String, evidence: [Evidence]) {
        (self.rule, self.text, self.evidence) = (rule, text, evidence)
    }

    /// Checks for Command Status instead of Command Complete, or the reverse; nil for a correct answer.
    ///
    /// - Parameter number: the event's number in the capture.
    init?(_ answer: CommandAnswer, _ event: HCIPacket, number: Int, at side: Side) {
        guard let owed = answer.owedInstead else { return nil }
        let command = PDUCatalog.command(opcode: answer.opcode)?.name ?? ""
        rule = "\(command) is answered by \(owed.eventName) (Core Vol 4, Part E, \(owed.section))."
        text = "\(command) of the \(side.rawValue): expected \(owed.eventName), got \(answer.kind.eventName) (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    init(_ excess: OutstandingPackets.Excess, _ event: HCIPacket, number: Int, at side: Side) {
        isAboutCredits = true
        rule = "Number_Of_Completed_Packets tells of each data packet once, on its handle (Core Vol 4, Part E, 7.7.19)."
        let handle = "handle \(excess.handle.rawValue)"
        let most = excess.isKnown ? "at most \(excess.outstanding) completed on \(handle)" : "none completed on \(handle), which never was"
        text = "Number_Of_Completed_Packets of the \(side.rawValue): expected \(most), got \(excess.reported) (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    /// Checks for a value that the specification does not define; nil for a correct event.
    init?(valuesOf event: HCIPacket, number: Int, at side: Side) {
        guard let fault = DefinedValues.fault(in: event) else { return nil }
        let answered = event.completedOpcode.flatMap { PDUCatalog.command(opcode: $0) }
        let pdu = DynamicPDU(hci: event)
        let section = answered?.section ?? pdu.declaration?.section ?? "Core Vol 4, Part E, 7"
        rule = "Each field has a value that the specification defines (\(section))."
        let name = answered.map { "The answer to \($0.name)" } ?? pdu.name
        text = "\(name) of the \(side.rawValue): expected \(fault.field) \(fault.wanted), got \(fault.got) (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    /// An event that completes a command, without one that is outstanding.
    init(_ event: HCIPacket, without command: PDUDeclaration, number: Int, at side: Side) {
        let name = DynamicPDU(hci: event).name
        rule = "A command is completed once (Core Vol 4, Part E, 4.4)."
        text = "\(name) of the \(side.rawValue): expected none, since no \(command.name) is outstanding, got one (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    /// An event that came before.
    init(repeated event: HCIPacket, number: Int, at side: Side) {
        let pdu = DynamicPDU(hci: event)
        rule = "A controller tells of a change, and asks its host, once (\(pdu.declaration?.section ?? "Core Vol 4, Part E, 7.7"))."
        text = "\(pdu.name) of the \(side.rawValue): expected it once, got it again (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    /// An event about a device that the host has never heard of.
    init(aboutStranger event: HCIPacket, number: Int, at side: Side) {
        let pdu = DynamicPDU(hci: event)
        rule = "Events name the device that they are about (\(pdu.declaration?.section ?? "Core Vol 4, Part E, 7.7"))."
        text =
            "\(pdu.name) of the \(side.rawValue): expected a \(KnownDevices.address) that the host knows, got another (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    /// Checks for data of an LE connection with invalid flags; nil for correct data.
    init?(data packet: HCIPacket, number: Int, at side: Side) {
        guard let header = packet.aclHeader else { return nil }
        let flag: (wanted: String, got: String)
        if header.broadcast != 0 {
            flag = ("BC_Flag 0, point to point", "\(header.broadcast)")
        } else if header.boundary == .firstNonFlushable || header.boundary == .complete {
            flag = ("PB_Flag 2, first, or 1, continuing", "\(header.boundary.rawValue)")
        } else {
            return nil
        }
        rule = "Data for the host of an LE connection has the flags of a controller (Core Vol 4, Part E, 5.4.2)."
        text = "ACL_Data of the \(side.rawValue): expected \(flag.wanted), got \(flag.got) (packet \(number))"
        evidence = [Self.evidence(packet, number, side)]
    }

    static func evidence(_ packet: HCIPacket, _ number: Int, _ side: Side, _ direction: CaptureDirection = .controllerToHost) -> Evidence {
        var decoder = PacketDecoder()
        return Evidence(packet: number, side: side.rawValue, text: decoder.decode(packet, direction).description)
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
