import BBPackets

extension Layer {
    /// The fixed channel of a link; that of LE if BR/EDR has none.
    public func fixedChannel(isClassic: Bool) -> UInt16? { (isClassic ? bredrChannel : nil) ?? leChannel }
}

/// The layers that a step of a case may name.
extension Set<Layer> {
    /// Seen on the simulated air only.
    public static let air: Set<Layer> = [.llControl, .advertising, .lmp, .llData, .baseband]
    /// Fixed channels of L2CAP.
    public static let fixedChannels: Set<Layer> = [.att, .smp, .l2capSignaling]
    /// Layers of the other channels, and synchronous data.
    public static let data: Set<Layer> = [.l2cap, .rfcommFrames, .sdp, .rfcomm, .avdtp, .avctp, .avrcpCommands, .avrcpResponses, .hciData]
    /// Exchanged with the upper tester of a host.
    public static let upperTester: Set<Layer> = [.btpCommands, .btpEvents]
    /// Sent or received on a connection.
    public static let onConnections = fixedChannels.union(data)
    public static let sent = onConnections.union(answered)
    /// Commands, which have an answer of their own.
    public static let answered: Set<Layer> = [.hciCommands, .btpCommands]
    public static let received = onConnections.union([.hciEvents, .btpEvents])
    public static let observed = received.union(air)
}
