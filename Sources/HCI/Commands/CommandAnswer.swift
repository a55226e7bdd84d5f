import BBPackets

/// A controller's first answer to a command: Command Complete or Command Status. Core Vol 4, Part E, 7.7.14 and 7.7.15.
public struct CommandAnswer: Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        case status
        case complete
    }

    public var opcode: UInt16
    /// Num_HCI_Command_Packets.
    public var credits: Int
    public var kind: Kind
    /// Status of Command Status, or the first return parameter.
    public var status: ErrorCode
    /// Return parameters, Status first; empty for Command Status.
    public var returns: [UInt8]

    public init(opcode: UInt16, credits: Int = 1, kind: Kind, status: ErrorCode, returns: [UInt8] = []) {
        self.opcode = opcode
        self.credits = credits
        self.kind = kind
        self.status = status
        self.returns = returns
    }

    /// Returns nil for any other event.
    public init?(event packet: HCIPacket) throws(PDUError) {
        switch packet.eventCode {
        case HCIEvents.CommandComplete.code:
            let event = try packet.event(as: HCIEvents.CommandComplete.self)
            self.init(
                opcode: event.commandOpcode, credits: Int(event.numHCICommandPackets), kind: .complete,
                status: ErrorCode(rawValue: event.returnParameters.first ?? 0), returns: event.returnParameters)
        case HCIEvents.CommandStatus.code:
            let event = try packet.event(as: HCIEvents.CommandStatus.self)
            self.init(opcode: event.commandOpcode, credits: Int(event.numHCICommandPackets), kind: .status, status: event.status)
        default: return nil
        }
    }
}
