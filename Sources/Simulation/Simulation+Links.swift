import BBPackets

/// The state of one end of an LE link.
public struct LinkView: Sendable, Hashable {
    public var interval: Microseconds
    public var latency: Int
    public var supervisionTimeout: Microseconds
    /// Used data channels: bit n is channel n.
    public var channels: UInt64
    public var transmitPHY: PHY
    public var receivePHY: PHY
    /// Effective data lengths. Core Vol 6, Part B, 4.5.10.
    public var maxTxOctets: UInt16
    public var maxRxOctets: UInt16
    public var isEncrypted: Bool
    /// Number of the current or the last connection event, modulo 65,536.
    public var eventCounter: Int
    /// The next anchor point, as this end expects it.
    public var nextAnchor: Microseconds
}

/// The links of a simulation as an observer of the whole world sees them, for the search of all courses of events.
extension Simulation {
    /// True if no LE link has a procedure, a timeout of one, or data under way.
    public var areLinksAtRest: Bool { ports.values.compactMap(\.controller).flatMap(\.links).allSatisfy(\.connection.isAtRest) }

    /// The state of a controller's first LE link; nil if it has none.
    public func link(of identifier: ControllerID) -> LinkView? {
        guard let link = controller(identifier)?.links.first?.connection else { return nil }
        let length = link.dataLength
        return LinkView(
            interval: link.interval, latency: link.peripheralLatency, supervisionTimeout: link.supervisionTimeout,
            channels: link.channelMap.bits, transmitPHY: link.transmitPHY, receivePHY: link.receivePHY,
            maxTxOctets: length.maxTxOctets, maxRxOctets: length.maxRxOctets, isEncrypted: link.state.encryption.isOn,
            eventCounter: link.state.timing.eventCounter & 0xFFFF,
            nextAnchor: link.state.timing.anchor(of: link.state.timing.eventCounter + 1))
    }

    /// Loses one packet: no radio detects it.
    ///
    /// - Parameter number: 1 for the next transmission of any device.
    public func losePacket(_ number: Int = 1) { air.lostTransmission = air.transmissions &+ number }
}
