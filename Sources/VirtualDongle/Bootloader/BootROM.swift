import BBPackets

/// Reaction of a boot ROM to a command.
enum BootStep: Equatable {
    case send(HCIPacket)
    /// Starts the firmware after a delay, with an optional announcement.
    case run(after: Microseconds, announcing: HCIPacket?)
    /// Stops the firmware and returns to the ROM.
    case stop
}

/// The ROM or boot loader of a chip. It answers commands until firmware runs, and defines the vendor commands of the firmware.
protocol BootROM: Sendable {
    /// Returns nil if the ROM does not handle the command: the firmware gets it, and without firmware it is unknown.
    mutating func take(_ command: HCIPacket) -> [BootStep]?
    /// Changes a packet of the running controller to the form that the chip's firmware sends.
    func amend(_ packet: HCIPacket) -> HCIPacket
}

extension BootROM {
    /// The answer to an unknown command.
    static func unknown(_ opcode: UInt16) -> HCIPacket {
        HCIPacket(completeOpcode: opcode, returns: [ErrorCode.unknownHCICommand.rawValue])
    }

    static func refusal(_ opcode: UInt16, _ code: ErrorCode) -> BootStep {
        .send(HCIPacket(completeOpcode: opcode, returns: [code.rawValue]))
    }

    /// Changes the return parameters of Read_Local_Version_Information.
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
