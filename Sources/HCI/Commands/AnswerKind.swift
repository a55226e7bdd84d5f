import Packets

extension CommandAnswer {
    /// The OGF of vendors' commands. Core Vol 4, Part E, 5.4.1.
    private static let vendorGroup: UInt16 = 0x3F

    /// The kind of answer that the command owes, if this is another one; nil for a right answer and for a vendor's command.
    ///
    /// Command Status also tells that any command could not begin to execute, and either event tells that a command is unknown. Core Vol 4, Part E,
    /// 7.7.14 and 7.7.15.
    public var owedInstead: Kind? {
        guard status != .unknownHCICommand, opcode >> 10 != Self.vendorGroup, let command = PDUCatalog.command(opcode: opcode) else {
            return nil
        }
        switch (kind, command.completion) {
        case (.status, .complete): return status == .success ? .complete : nil
        case (.complete, .status): return .status
        case (.status, .status), (.complete, .complete): return nil
        }
    }
}
