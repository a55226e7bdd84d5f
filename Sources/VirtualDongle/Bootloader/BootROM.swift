import Packets

/// What a boot ROM does about a command.
enum BootStep: Equatable {
    case send(HCIPacket)
    /// The firmware runs after a while, and says so.
    case run(after: Microseconds, announcing: HCIPacket?)
    /// The firmware ends: back into the ROM.
    case stop
}

/// What a chip's ROM, or the boot loader in it, answers until firmware runs, and which of its maker's commands the firmware knows.
protocol BootROM: Sendable {
    /// Nil when the command is none of its own: the firmware gets it, and without firmware it is unknown.
    mutating func take(_ command: HCIPacket) -> [BootStep]?
    /// A packet of the running controller, as the chip's firmware would have sent it.
    func amend(_ packet: HCIPacket) -> HCIPacket
}

extension BootROM {
    /// The answer to a command that it does not know.
    static func unknown(_ opcode: UInt16) -> HCIPacket {
        HCIPacket(completeOpcode: opcode, returns: [ErrorCode.unknownHCICommand.rawValue])
    }

    static func refusal(_ opcode: UInt16, _ code: ErrorCode) -> BootStep {
        .send(HCIPacket(completeOpcode: opcode, returns: [code.rawValue]))
    }

    /// Changes what Read_Local_Version_Information told.
    static func amendVersion(
        _ packet: HCIPacket, _ change: (inout HCICommands.ReadLocalVersionInformation.Return) -> Void
    ) -> HCIPacket {
        guard packet.eventCode == HCIEvents.CommandComplete.code, let complete = try? packet.event(as: HCIEvents.CommandComplete.self),
            complete.commandOpcode == HCICommands.ReadLocalVersionInformation.opcode,
            var returns = try? complete.returns(of: HCICommands.ReadLocalVersionInformation.self), returns.status == .success
        else { return packet }
        change(&returns)
        return HCIPacket(complete: HCICommands.ReadLocalVersionInformation.self, returns, credits: complete.numHCICommandPackets)
    }
}
