import BBPackets

/// Timeouts of controller answers.
public struct HostLimits: Sendable, Hashable {
    /// Timeout of the answer to a command.
    public var command = Microseconds.seconds(2)
    /// Answer to an optional read command.
    public var optionalRead = Microseconds.seconds(1)
    /// Answers to HCI_Reset, one for each attempt; a late answer to an earlier attempt counts.
    public var resets: [Microseconds] = [.seconds(2), .seconds(2), .seconds(6)]
    /// With commands queued, none outstanding and Num_HCI_Command_Packets 0, one is sent nevertheless after this time.
    public var withheldCredits = Microseconds.seconds(4)
    /// Answer to a command whose connection has ended meanwhile.
    public var afterDisconnection = Microseconds.milliseconds(500)
    /// Answers that take longer are reported.
    public var slowAnswer = Microseconds.seconds(1)

    public init() {}

    /// These timeouts, each multiplied by a factor.
    public func scaled(by factor: Double) -> HostLimits {
        func scaled(_ time: Microseconds) -> Microseconds { Microseconds(Int64(saturating: Double(time.rawValue) * factor)) }
        var limits = self
        for path in [\HostLimits.command, \.optionalRead, \.withheldCredits, \.afterDisconnection, \.slowAnswer] {
            limits[keyPath: path] = scaled(self[keyPath: path])
        }
        limits.resets = resets.map(scaled)
        return limits
    }
}

/// Duration of a command.
public struct CommandTiming: Sendable, Hashable {
    public var opcode: UInt16
    /// Time from the command to its answer.
    public var time: Microseconds

    /// The name in the specification, or the opcode.
    public var name: String { PDUCatalog.command(opcode: opcode)?.name ?? Hex.number(opcode) }
}
