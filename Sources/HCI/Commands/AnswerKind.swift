import BBPackets

extension CommandAnswer {
    /// The event that the command requires, if this is the other one; nil for the correct event and for vendor commands.
    ///
    /// Command Status is also correct for any command that could not be executed, and both events may report an unknown command. Core Vol
    /// 4, Part E, 7.7.14 and 7.7.15.
    public var owedInstead: Kind? {
        guard status != .unknownHCICommand, opcode >> 10 != CommandQueue.vendorGroup, let command = PDUCatalog.command(opcode: opcode)
        else {
            return nil
        }
        switch (kind, command.completion) {
        case (.status, .complete): return status == .success ? .complete : nil
        case (.complete, .status): return .status
        case (.status, .status), (.complete, .complete): return nil
        }
    }
}
