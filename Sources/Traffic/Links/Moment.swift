import BBPackets

/// A packet among those that are followed: its number, and its time in microseconds since a common start.
public struct Moment: Sendable, Hashable {
    public var packet: Int
    public var time: Int64

    public init(packet: Int, time: Int64) {
        self.packet = packet
        self.time = time
    }
}

/// The end that sent a PDU; `local` and `peer` if the roles on an HCI are unknown.
public enum PacketSender: String, Sendable, CaseIterable {
    case central, peripheral, host, controller, local, peer
}

/// A value for each end of a link.
public struct ByEnd<Value: Sendable & Hashable>: Sendable, Hashable {
    public var central: Value
    public var peripheral: Value

    public init(central: Value, peripheral: Value) {
        self.central = central
        self.peripheral = peripheral
    }

    init(_ both: Value) { self.init(central: both, peripheral: both) }

    /// The values as a controller reports them: its own first.
    init(_ role: ConnectionRole?, own: Value, others: Value) {
        self.init(central: role == .peripheral ? others : own, peripheral: role == .peripheral ? own : others)
    }
}
