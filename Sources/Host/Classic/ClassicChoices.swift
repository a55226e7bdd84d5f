/// Behaviour on BR/EDR that the specification leaves to a host.
public struct ClassicChoices: Sendable, Hashable {
    /// Maximum octets of an SDP list per response, at least 7. The server decides where to split. Core Vol 3, Part B, 4.6.1.
    public var mostListOctets = Int(UInt16.max)
    /// RFCOMM frames that the peer may have outstanding on a serial port, at least 1. RFCOMM 1.2, 6.5.
    public var creditWindow = 32

    public init() {}
}
