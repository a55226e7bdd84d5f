/// What the specification leaves to a host on BR/EDR.
public struct ClassicChoices: Sendable, Hashable {
    /// The most octets of a list that service discovery tells at once, at least 7: the server decides where to divide it. Core Vol 3, Part B, 4.6.1.
    public var mostListOctets = Int(UInt16.max)
    /// Frames that the other side may have under way on a serial port, at least 1. RFCOMM 1.2, 6.5.
    public var creditWindow = 32

    public init() {}
}
