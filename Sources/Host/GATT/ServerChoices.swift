/// What the specification leaves to an ATT server; by default it does what most do.
public struct ServerChoices: Sendable, Hashable {
    /// Whether it has the optional ATT_READ_MULTIPLE_REQ and ATT_READ_MULTIPLE_VARIABLE_REQ. Core Vol 3, Part G, 4.8.4 and 4.8.5.
    public var readsMultiple = true
    /// Refuses a part of a value of fixed length that fits into ATT_READ_RSP as Attribute Not Long. Core Vol 3, Part F, 3.4.4.5.
    public var tellsNotLong = false
    /// On a link in clear asks for encryption rather than for authentication, which is both missing. Core Vol 3, Part F, 4.
    public var asksForEncryption = false

    public init() {}
}
