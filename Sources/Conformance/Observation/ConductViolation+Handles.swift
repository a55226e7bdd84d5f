import BBCases
import BBHCI
import BBPackets

/// Rules about connections and about the answers to commands.
extension ConductViolation {
    /// An answer to a command that is not outstanding. Core Vol 4, Part E, 4.4.
    init?(strayAnswer answer: CommandAnswer, _ event: HCIPacket, number: Int, at side: Side) {
        guard let command = PDUCatalog.command(opcode: answer.opcode), command.company == nil else { return nil }
        rule = "A command is answered once (Core Vol 4, Part E, 4.4)."
        text = "\(command.name) of the \(side.rawValue): expected no answer, since none is outstanding, got another (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    /// A command without an answer.
    ///
    /// - Parameter number: the command's number in the capture.
    init(unanswered command: HCIPacket, number: Int, at side: Side) {
        let name = command.commandOpcode.flatMap { PDUCatalog.command(opcode: $0)?.name } ?? "a command"
        rule = "A controller answers each command (Core Vol 4, Part E, 4.4)."
        text = "\(name) of the \(side.rawValue): expected an answer, got none (packet \(number))"
        evidence = [Self.evidence(command, number, side, .hostToController)]
    }

    /// A command that cannot be sent, since the controller allows none, although it has answered all.
    ///
    /// - Parameters:
    ///   - event: the last answer.
    ///   - number: its number in the capture.
    init(withheld command: HCIPacket, after event: HCIPacket, number: Int, at side: Side) {
        let name = command.commandOpcode.flatMap { PDUCatalog.command(opcode: $0)?.name } ?? "a command"
        rule = "A controller that has answered all commands allows the next one (Core Vol 4, Part E, 4.4)."
        text =
            "\(name) for the \(side.rawValue): expected Num_HCI_Command_Packets 1 or more after the last answer, got 0 (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    /// Checks that a command without parameters does not fail for a reason that concerns parameters, connections or peers; nil for any other
    /// answer. A command that is unknown is judged by the claims.
    init?(failed answer: CommandAnswer, to command: HCIPacket, _ event: HCIPacket, number: Int, at side: Side) {
        guard answer.kind == .complete, !Self.general.contains(answer.status), command.bytes.count == Self.withoutParameters,
            let declaration = PDUCatalog.command(opcode: answer.opcode), declaration.company == nil, declaration.fields.isEmpty
        else { return nil }
        rule = "The error code of a command is one that concerns it (Core Vol 1, Part F, 2)."
        text =
            "\(declaration.name) of the \(side.rawValue): expected Success, since the command has no parameters and concerns no connection, "
            + "got \(answer.status) (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    /// The length of a command packet without parameters.
    private static let withoutParameters = 3
    /// The results that any command may have.
    private static let general: Set<ErrorCode> = [
        .success, .unknownHCICommand, .hardwareFailure, .memoryCapacityExceeded, .commandDisallowed, .unsupportedFeatureOrParameterValue,
        .unspecifiedError, .controllerBusy,
    ]

    /// Checks that the return parameters have the connection or device of the command; nil for a correct answer.
    init?(_ answer: CommandAnswer, to command: HCIPacket, _ event: HCIPacket, number: Int, at side: Side) {
        guard answer.kind == .complete, answer.status == .success else { return nil }
        let names = Self.echoed(by: answer.opcode)
        guard !names.isEmpty else { return nil }
        let (asked, got) = (DynamicPDU(hci: command), DynamicPDU(hci: event))
        for name in names {
            guard let wanted = asked[name]?.integer, let found = got[name]?.integer else { continue }
            let mask: Int128 = name == Self.device ? 0xFFFF_FFFF_FFFF : 0x0FFF
            guard wanted & mask != found & mask else { continue }
            // The local clock belongs to no connection. Core Vol 4, Part E, 7.5.6.
            if answer.opcode == HCICommands.ReadClock.opcode, asked["Which_Clock"]?.integer == 0 { return nil }
            rule = "An answer has the \(name) of its command (\(asked.declaration?.section ?? "Core Vol 4, Part E, 7"))."
            text = "\(asked.name) of the \(side.rawValue): expected \(name) \(wanted), got \(found) (packet \(number))"
            evidence = [Self.evidence(event, number, side)]
            return
        }
        return nil
    }

    /// Checks that a command in the claims is known; nil for any other answer. A command of the wrong length is not judged.
    ///
    /// - Parameter claims: Supported_Commands.
    init?(_ answer: CommandAnswer, to command: HCIPacket, _ claims: [UInt8], _ event: HCIPacket, number: Int, at side: Side) {
        guard answer.status == .unknownHCICommand, let declaration = PDUCatalog.command(opcode: answer.opcode),
            declaration.supportedCommandsBit?.isSet(in: claims) == true
        else { return nil }
        let asked = DynamicPDU(hci: command)
        guard asked.problem == nil, asked.trailing.isEmpty, asked.lengthInHeader == nil else { return nil }
        rule = "A controller knows the commands that it claims (Core Vol 4, Part E, 6.27)."
        text =
            "\(declaration.name) of the \(side.rawValue): expected a status other than Unknown_HCI_Command, since Supported_Commands has "
            + "its bit, got Unknown_HCI_Command (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    /// Checks that an event is about a connection that exists, and that a new connection has a handle of its own; nil for a correct event.
    ///
    /// - Parameter isOpen: returns true for the handle of a connection.
    init?(_ event: HCIPacket, number: Int, at side: Side, isOpen: (ConnectionHandle) -> Bool) {
        guard let opens = Self.opensConnection(event) else { return nil }
        let pdu = DynamicPDU(hci: event)
        guard let found = pdu[Self.handle]?.int, pdu["Status"]?.int ?? 0 == 0 else { return nil }
        let handle = ConnectionHandle(UInt16(truncatingIfNeeded: found) & 0x0FFF)
        guard isOpen(handle) == opens else { return nil }
        rule =
            opens
            ? "A new connection has a handle of its own (Core Vol 4, Part E, 5.3)."
            : "Events are about connections that exist (Core Vol 4, Part E, 5.3)."
        let wanted = opens ? "a handle that is free" : "the handle of a connection"
        text = "\(pdu.name) of the \(side.rawValue): expected \(wanted), got \(handle.rawValue) (packet \(number))"
        evidence = [Self.evidence(event, number, side)]
    }

    private static let handle = "Connection_Handle"
    private static let device = "BD_ADDR"

    private static let connectionEvents = Memo<ObjectIdentifier, Bool?>()

    /// True for an event that opens a connection of LE or BR/EDR, false for another about one; nil for the rest.
    private static func opensConnection(_ event: HCIPacket) -> Bool? {
        guard let declaration = event.eventCode.flatMap({ PDUCatalog.event(code: $0, subevent: event.leSubevent) }) else { return nil }
        return connectionEvents(ObjectIdentifier(declaration)) {
            guard declaration.fields.contains(where: { $0.name == handle }) else { return nil }
            return switch declaration.id.effect {
            // Streams have handles of their own.
            case .opens(.isochronous): nil
            case .opens(.le), .opens(.bredr), .opens(.synchronous): true
            // The event of a transferred sync names the connection over which it came.
            case .opens, .changes, .closes, nil: false
            }
        }
    }

    private static let echoes = Memo<UInt16, [String]>()

    /// Returns the fields that a command and its return parameters share.
    private static func echoed(by opcode: UInt16) -> [String] {
        echoes(opcode) {
            guard let command = PDUCatalog.command(opcode: opcode), let returns = command.returns else { return [] }
            return [handle, "Handle", device, "Page_Number", "Advertising_Handle", "Sync_Handle", "CIG_ID", "LT_ADDR"].filter { name in
                command.fields.contains { $0.name == name } && returns.contains { $0.name == name }
            }
        }
    }
}
