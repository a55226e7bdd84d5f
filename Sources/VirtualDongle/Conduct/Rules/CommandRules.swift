import BBPackets

/// Reports commands as supported, but rejects them.
final class RefusedCommands: ConductRule {
    private let commands: [UInt16: ErrorCode]
    private let claims: Bool

    init(_ commands: [UInt16: ErrorCode], claims: Bool = true) {
        self.commands = commands
        self.claims = claims
    }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let opcode = packet.commandOpcode, let status = commands[opcode] else { return packet }
        if let answer = HCIPacket.refusal(of: packet, status) { wire.answer(answer) }
        return nil
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard claims else { return packet }
        return packet.changingReturns(of: HCICommands.ReadLocalSupportedCommands.self) { returns in
            var mask = SupportedCommands(returns.supportedCommands)
            for opcode in commands.keys { mask.insert(PDUCatalog.command(opcode: opcode)?.supportedCommandsBit) }
            returns.supportedCommands = mask.octets
        }
    }
}

/// Rejects commands under a condition.
final class ConditionalRefusal: ConductRule {
    private let status: ErrorCode
    private let isRefused: (HCIPacket, ConductWire) -> Bool

    init(_ status: ErrorCode, _ isRefused: @escaping (HCIPacket, ConductWire) -> Bool) {
        self.status = status
        self.isRefused = isRefused
    }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard packet.kind == .command, isRefused(packet, wire) else { return packet }
        if let answer = HCIPacket.refusal(of: packet, status) { wire.answer(answer) }
        return nil
    }
}

/// Answers commands with success without executing them.
final class PretendedCommands: ConductRule {
    private let opcodes: Set<UInt16>

    init(_ opcodes: Set<UInt16>) { self.opcodes = opcodes }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let opcode = packet.commandOpcode, opcodes.contains(opcode) else { return packet }
        if let answer = HCIPacket.success(of: packet) { wire.answer(answer) }
        return nil
    }
}

extension HCIPacket {
    /// Command Complete with success, the connection handle, and zeros otherwise.
    static func success(of command: HCIPacket) -> HCIPacket? {
        guard let opcode = command.commandOpcode, let declaration = PDUCatalog.command(opcode: opcode) else { return nil }
        guard declaration.completion == .complete else { return HCIPacket(statusOpcode: opcode, .success) }
        var returns = declaration.zeroReturns
        if declaration.returns?.dropFirst().first?.name == "Connection_Handle", returns.count >= 3, command.parameters.count >= 2 {
            returns.replaceSubrange(1..<3, with: command.parameters.prefix(2))
        }
        return HCIPacket(completeOpcode: opcode, returns: returns)
    }
}

/// Locks up at a command, or a number of commands later.
final class LockUp: ConductRule {
    private let isFatal: (HCIPacket) -> Bool
    private let refuses: Bool
    private let after: ClosedRange<Int>
    private var left: Int?

    /// - Parameters:
    ///   - refuses: answer the command with Unknown HCI Command.
    ///   - after: number of further commands before it locks up.
    init(refuses: Bool, after: ClosedRange<Int>, _ isFatal: @escaping (HCIPacket) -> Bool) {
        self.refuses = refuses
        self.after = after
        self.isFatal = isFatal
    }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard packet.kind == .command else { return packet }
        if let count = left {
            left = count - 1
            if count <= 1 { wire.freeze() }
        }
        guard isFatal(packet) else { return packet }
        if left == nil { left = wire.number(after) }
        if left == 0 { wire.freeze() }
        guard refuses else { return packet }
        if let answer = HCIPacket.refusal(of: packet, .unknownHCICommand) { wire.answer(answer) }
        return nil
    }

    func portWasReset() { left = nil }
}

/// Answers unknown vendor commands with a wrong opcode.
final class WrongOpcode: ConductRule {
    private let isAboutAll: Bool
    private static let nobodys: UInt16 = 0xFFFF
    private static let vendorGroup: UInt16 = 0xFC00

    init(all isAboutAll: Bool) { self.isAboutAll = isAboutAll }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let opcode = packet.answeredOpcode, isAboutAll || opcode >= Self.vendorGroup else { return packet }
        let status =
            (try? packet.event(as: HCIEvents.CommandStatus.self))?.status.rawValue
            ?? (try? packet.event(as: HCIEvents.CommandComplete.self))?.returnParameters.first
        guard status == ErrorCode.unknownHCICommand.rawValue else { return packet }
        wire.after(1_300) { wire.answer(HCIPacket(completeOpcode: 0, returns: [])) }
        return HCIPacket(completeOpcode: Self.nobodys, returns: [ErrorCode.unknownHCICommand.rawValue])
    }
}

/// Answers a vendor command with a vendor event only, so that the command credit is not returned.
final class VendorEventOnly: ConductRule {
    private static let vendorGroup: UInt16 = 0xFC00

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let opcode = packet.answeredOpcode, opcode >= Self.vendorGroup else { return packet }
        let status = (try? packet.event(as: HCIEvents.CommandComplete.self))?.returnParameters ?? [ErrorCode.unknownHCICommand.rawValue]
        return HCIPacket(event: HCIEvents.VendorSpecific(data: [0xC2] + status))
    }
}

/// Sends Command Status instead of Command Complete.
final class StatusForComplete: ConductRule {
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let complete = try? packet.event(as: HCIEvents.CommandComplete.self), complete.returnParameters.count == 1,
            complete.commandOpcode != 0
        else { return packet }
        return HCIPacket(
            statusOpcode: complete.commandOpcode, ErrorCode(rawValue: complete.returnParameters[0]), credits: complete.numHCICommandPackets)
    }
}
