import BBHCI
import BBPackets
import BBTiming

/// Rules about connections and about the answers to commands.
extension RuleViolation {
    /// Checks for Command Status instead of Command Complete, or the reverse; nil for a correct answer.
    init?(_ answer: CommandAnswer, _ event: NumberedPacket) {
        guard let owed = answer.owedInstead else { return nil }
        let command = Self.name(of: answer.opcode)
        self.init(
            rule: "\(command) is answered by \(owed.eventName) (Core Vol 4, Part E, \(owed.section)).", command, wanted: owed.eventName,
            got: answer.kind.eventName, in: event)
    }

    /// An answer to a command that is not outstanding; nil for one that belongs to none. Core Vol 4, Part E, 4.4.
    init?(strayAnswer answer: CommandAnswer, _ event: NumberedPacket) {
        guard answer.opcode != CommandQueue.noCommand, answer.opcode != CommandQueue.unknownOpcode else { return nil }
        self.init(
            rule: "A command is answered once (Core Vol 4, Part E, 4.4).",
            PDUCatalog.command(opcode: answer.opcode)?.name ?? "The command \(Hex.number(answer.opcode))",
            wanted: "no answer, since none is outstanding", got: "another", in: event)
    }

    /// A command without an answer.
    init(unanswered command: NumberedPacket) {
        self.init(
            rule: "A controller answers each command (Core Vol 4, Part E, 4.4).", Self.name(of: command.packet.commandOpcode),
            wanted: "an answer", got: "none", in: command)
    }

    /// A command that cannot be sent, since the controller allows none, although it has answered all.
    ///
    /// - Parameter event: the last answer.
    init(withheld command: HCIPacket, after event: NumberedPacket) {
        self.init(
            rule: "A controller that has answered all commands allows the next one (Core Vol 4, Part E, 4.4).",
            Self.name(of: command.commandOpcode), wanted: "Num_HCI_Command_Packets 1 or more after the last answer", got: "0", in: event)
    }

    private static func name(of opcode: UInt16?) -> String { opcode.flatMap { PDUCatalog.command(opcode: $0)?.name } ?? "a command" }

    /// Checks that a command without parameters does not fail for a reason that concerns parameters, connections or peers; nil for any other
    /// answer. A command that is unknown is judged by the claims.
    init?(failed answer: CommandAnswer, to command: HCIPacket, _ event: NumberedPacket) {
        guard answer.kind == .complete, !Self.general.contains(answer.status), command.bytes.count == Self.withoutParameters,
            let declaration = PDUCatalog.command(opcode: answer.opcode), declaration.company == nil, declaration.fields.isEmpty
        else { return nil }
        self.init(
            rule: "The error code of a command is one that concerns it (Core Vol 1, Part F, 2).", declaration.name,
            wanted: "Success, since the command has no parameters and concerns no connection", got: "\(answer.status)", in: event)
    }

    /// The length of a command packet without parameters.
    private static let withoutParameters = 3
    /// The results that any command may have.
    private static let general: Set<ErrorCode> = [
        .success, .unknownHCICommand, .hardwareFailure, .memoryCapacityExceeded, .commandDisallowed, .unsupportedFeatureOrParameterValue,
        .unspecifiedError, .controllerBusy,
    ]

    /// Checks that the return parameters have the connection or device of the command; nil for a correct answer.
    init?(_ answer: CommandAnswer, to command: HCIPacket, _ event: NumberedPacket) {
        guard answer.kind == .complete, answer.status == .success else { return nil }
        let names = Self.echoed(by: answer.opcode)
        guard !names.isEmpty else { return nil }
        let (asked, got) = (DynamicPDU(hci: command), DynamicPDU(hci: event.packet))
        for name in names {
            guard let wanted = asked[name]?.integer, let found = got[name]?.integer else { continue }
            let mask: Int128 = name == KnownDevices.address ? 0xFFFF_FFFF_FFFF : 0x0FFF
            guard wanted & mask != found & mask else { continue }
            // The local clock belongs to no connection. Core Vol 4, Part E, 7.5.6.
            if answer.opcode == HCICommands.ReadClock.opcode, asked["Which_Clock"]?.integer == 0 { return nil }
            self.init(
                rule: "An answer has the \(name) of its command (\(asked.declaration?.section ?? "Core Vol 4, Part E, 7")).", asked.name,
                wanted: "\(name) \(wanted)", got: "\(found)", in: event)
            return
        }
        return nil
    }

    /// Checks that a command in the claims is known; nil for any other answer. A command of the wrong length is not judged.
    ///
    /// - Parameter claims: Supported_Commands.
    init?(_ answer: CommandAnswer, to command: HCIPacket, _ claims: [UInt8], _ event: NumberedPacket) {
        guard answer.status == .unknownHCICommand, let declaration = PDUCatalog.command(opcode: answer.opcode),
            declaration.supportedCommandsBit?.isSet(in: claims) == true
        else { return nil }
        let asked = DynamicPDU(hci: command)
        guard asked.problem == nil, asked.trailing.isEmpty, asked.lengthInHeader == nil else { return nil }
        self.init(
            rule: "A controller knows the commands that it claims (Core Vol 4, Part E, 6.27).", declaration.name,
            wanted: "a status other than Unknown_HCI_Command, since Supported_Commands has its bit", got: "Unknown_HCI_Command", in: event)
    }

    /// Checks that an event is about a connection that exists, and that a new connection has a handle of its own; nil for a correct event.
    ///
    /// - Parameter isOpen: returns true for the handle of a connection.
    init?(_ event: NumberedPacket, isOpen: (ConnectionHandle) -> Bool) {
        guard let opens = Self.opensConnection(event.packet) else { return nil }
        let pdu = DynamicPDU(hci: event.packet)
        guard let found = pdu[Self.handle]?.int, pdu["Status"]?.int ?? 0 == 0 else { return nil }
        let handle = ConnectionHandle(UInt16(truncatingIfNeeded: found) & 0x0FFF)
        guard isOpen(handle) == opens else { return nil }
        self.init(
            rule: opens
                ? "A new connection has a handle of its own (Core Vol 4, Part E, 5.3)."
                : "Events are about connections that exist (Core Vol 4, Part E, 5.3).",
            pdu.name, wanted: opens ? "a handle that is free" : "the handle of a connection", got: "\(handle.rawValue)", in: event)
    }

    private static let handle = "Connection_Handle"
    private static let connectionEvents = Memo<PDUID, Bool?>()

    /// True for an event that opens a connection of LE or BR/EDR, false for another about one; nil for the rest.
    private static func opensConnection(_ event: HCIPacket) -> Bool? {
        guard let id = event.id, let declaration = PDUCatalog.declaration(id) else { return nil }
        return connectionEvents(id) {
            guard declaration.fields.contains(where: { $0.name == handle }) else { return nil }
            return switch id.effect {
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
            let names = [
                handle, "Handle", KnownDevices.address, "Page_Number", "Advertising_Handle", "Sync_Handle", "CIG_ID", "LT_ADDR",
            ]
            return names.filter { name in command.fields.contains { $0.name == name } && returns.contains { $0.name == name } }
        }
    }
}

/// Rules about events and data.
extension RuleViolation {
    init(_ excess: OutstandingPackets.Excess, _ event: NumberedPacket) {
        let handle = "handle \(excess.handle.rawValue)"
        self.init(
            rule: "Number_Of_Completed_Packets tells of each data packet once, on its handle (Core Vol 4, Part E, 7.7.19).",
            HCIEvents.NumberOfCompletedPackets.name,
            wanted: excess.isKnown
                ? "at most \(excess.outstanding) completed on \(handle)" : "none completed on \(handle), which never was",
            got: "\(excess.reported)", in: event)
    }

    /// Checks the length of an event; nil for a correct event.
    init?(lengthOf event: NumberedPacket) {
        guard let fault = DeclaredLengths.fault(in: event.packet) else { return nil }
        self.init(
            rule: "An event has the length of its parameters (\(fault.section)).", fault.name, wanted: fault.wanted, got: fault.got,
            in: event)
    }

    /// Checks for a value that the specification does not define; nil for a correct event.
    init?(valuesOf event: NumberedPacket) {
        guard let fault = DefinedValues.fault(in: event.packet) else { return nil }
        let answered = event.packet.completedOpcode.flatMap { PDUCatalog.command(opcode: $0) }
        let pdu = DynamicPDU(hci: event.packet)
        let section = answered?.section ?? pdu.declaration?.section ?? "Core Vol 4, Part E, 7"
        self.init(
            rule: "Each field has a value that the specification defines (\(section)).",
            answered.map { "The answer to \($0.name)" } ?? pdu.name, wanted: "\(fault.field) \(fault.wanted)", got: fault.got, in: event)
    }

    /// An event that completes a command, without one that is outstanding.
    init(_ event: NumberedPacket, without command: PDUDeclaration) {
        self.init(
            rule: "A command is completed once (Core Vol 4, Part E, 4.4).", DynamicPDU(hci: event.packet).name,
            wanted: "none, since no \(command.name) is outstanding", got: "one", in: event)
    }

    /// Checks for a failure of the hardware; nil for another event.
    init?(failureIn event: NumberedPacket) {
        guard event.packet.eventCode == HCIEvents.HardwareError.code,
            let failure = try? event.packet.event(as: HCIEvents.HardwareError.self)
        else { return nil }
        self.init(
            rule: "A controller whose hardware works sends no Hardware_Error (Core Vol 4, Part E, 7.7.16).",
            HCIEvents.HardwareError.name, wanted: "none", got: "Hardware_Code \(failure.hardwareCode)", in: event)
    }

    /// Checks for an overflow of buffers that the host respects; nil for another event. Those for voice may overflow: it is sent without flow
    /// control.
    ///
    /// - Parameter uncounted: the kinds of data of which the host has sent more than the buffers limit.
    init?(overflowIn event: NumberedPacket, _ uncounted: Set<HCIPacket.Kind>) {
        guard event.packet.eventCode == HCIEvents.DataBufferOverflow.code,
            let type = try? event.packet.event(as: HCIEvents.DataBufferOverflow.self).linkType,
            let kind = [1: HCIPacket.Kind.acl, 2: .iso][Int(type)], !uncounted.contains(kind)
        else { return nil }
        self.init(
            rule: "Data_Buffer_Overflow comes when the host sends more than there are buffers (Core Vol 4, Part E, 7.7.26).",
            HCIEvents.DataBufferOverflow.name, wanted: "none, since no more was sent than the buffers hold", got: "Link_Type \(type)",
            in: event)
    }

    /// An event that the host has masked.
    init(masked event: NumberedPacket) {
        self.init(
            rule: "An event that the host has masked is not sent (Core Vol 4, Part E, 7.3.1).", DynamicPDU(hci: event.packet).name,
            wanted: "none, since its bit in the event mask is 0", got: "one", in: event)
    }

    /// A notification of a scan request that the host does not want.
    init(_ event: NumberedPacket, unwantedOf set: Int) {
        self.init(
            rule: "Scan requests are reported if Scan_Request_Notification_Enable says so (Core Vol 4, Part E, 7.8.53).",
            HCIEvents.LEScanRequestReceived.name, wanted: "none of set \(set), which has no notification", got: "one", in: event)
    }

    /// An event that came before.
    init(repeated event: NumberedPacket) {
        let pdu = DynamicPDU(hci: event.packet)
        self.init(
            rule: "A controller tells of a change, and asks its host, once (\(pdu.declaration?.section ?? "Core Vol 4, Part E, 7.7")).",
            pdu.name, wanted: "it once", got: "it again", in: event)
    }

    /// An event about a device that the host has never heard of.
    init(aboutStranger event: NumberedPacket) {
        let pdu = DynamicPDU(hci: event.packet)
        self.init(
            rule: "Events name the device that they are about (\(pdu.declaration?.section ?? "Core Vol 4, Part E, 7.7")).", pdu.name,
            wanted: "a \(KnownDevices.address) that the host knows", got: "another", in: event)
    }

    /// Checks for data of an LE connection with invalid flags; nil for correct data.
    init?(data packet: NumberedPacket) {
        guard let header = packet.packet.aclHeader else { return nil }
        let (wanted, got): (String, String)
        if header.broadcast != 0 {
            (wanted, got) = ("BC_Flag 0, point to point", "\(header.broadcast)")
        } else if header.boundary == .firstNonFlushable || header.boundary == .complete {
            (wanted, got) = ("PB_Flag 2, first, or 1, continuing", "\(header.boundary.rawValue)")
        } else {
            return nil
        }
        self.init(
            rule: "Data for the host of an LE connection has the flags of a controller (Core Vol 4, Part E, 5.4.2).",
            DynamicPDU(hci: packet.packet).name, wanted: wanted, got: got, in: packet)
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
