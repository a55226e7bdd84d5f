/// What the specification leaves to an ATT server; by default it does what most do.
public struct ServerChoices: Sendable, Hashable {
    /// Requests that it does not support, by opcode. Core Vol 3, Part F, 4, and Part G, 4.2.
    public var withoutRequests: Set<UInt8> = []
    /// Refuses every n-th ATT_READ_REQ of a connection with an application error; 0 for none. Core Vol 3, Part F, 3.4.1.1.
    public var busyEvery = 0
    /// Refuses a part of a value of fixed length that fits into ATT_READ_RSP as Attribute Not Long. Core Vol 3, Part F, 3.4.4.5.
    public var tellsNotLong = false
    /// On a link in clear asks for encryption rather than for authentication, which is both missing. Core Vol 3, Part F, 4.
    public var asksForEncryption = false

    public init() {}
}
