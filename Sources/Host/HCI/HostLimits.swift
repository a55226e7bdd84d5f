import Packets

/// How long a controller may take before the host does without.
public struct HostLimits: Sendable, Hashable {
    /// For the answer to a command.
    public var command = Microseconds.seconds(2)
    /// For the answer to a question that the host can do without.
    public var optionalRead = Microseconds.seconds(1)
    /// For the answers to HCI_Reset, which is sent so often: a slow answer to the first counts while the next is awaited.
    public var resets: [Microseconds] = [.seconds(2), .seconds(2), .seconds(6)]
    /// With commands waiting, none under way and Num_HCI_Command_Packets 0, one is sent all the same after this time.
    public var withheldCredits = Microseconds.seconds(4)
    /// For the answer to a command whose connection has ended meanwhile.
    public var afterDisconnection = Microseconds.milliseconds(500)
    /// An answer that takes longer is told.
    public var slowAnswer = Microseconds.seconds(1)

    public init() {}

    /// All of them times a factor.
    public func scaled(by factor: Double) -> HostLimits {
        func scaled(_ time: Microseconds) -> Microseconds { Microseconds(Int64(Double(time.rawValue) * factor)) }
        var limits = self
        for path in [\HostLimits.command, \.optionalRead, \.withheldCredits, \.afterDisconnection, \.slowAnswer] {
            limits[keyPath: path] = scaled(self[keyPath: path])
        }
        limits.resets = resets.map(scaled)
        return limits
    }
}

/// How long a command took.
public struct CommandTiming: Sendable, Hashable {
    public var opcode: UInt16
    /// From the command to its answer.
    public var time: Microseconds

    /// The name in the specification, or the opcode.
    public var name: String { PDUCatalog.command(opcode: opcode)?.name ?? Hex.number(opcode) }
}
