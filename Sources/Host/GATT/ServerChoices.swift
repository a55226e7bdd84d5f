/// Behaviour that the specification leaves to an ATT server. The defaults are what most servers do.
public struct ServerChoices: Sendable, Hashable {
    /// Unsupported requests, by opcode. Core Vol 3, Part F, 4, and Part G, 4.2.
    public var withoutRequests: Set<UInt8> = []
    /// Rejects every n-th ATT_READ_REQ of a connection with an application error; 0 for none. Core Vol 3, Part F, 3.4.1.1.
    public var busyEvery = 0
    /// Rejects ATT_READ_BLOB_REQ for a fixed-length value that fits into ATT_READ_RSP with Attribute Not Long. Core Vol 3, Part F, 3.4.4.5.
    public var tellsNotLong = false
    /// If both encryption and authentication are missing on an unencrypted link, reports insufficient encryption. Core Vol 3, Part F, 4.
    public var asksForEncryption = false

    public init() {}
}
