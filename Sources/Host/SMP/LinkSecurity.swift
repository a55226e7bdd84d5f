/// Security of a link, in the order of LE security mode 1, levels 1...4. Core Vol 3, Part C, 10.2.1.
public enum LinkSecurity: Sendable, Hashable, Comparable {
    /// Not encrypted.
    case none
    /// Encrypted with an unauthenticated key.
    case encrypted
    /// Encrypted with a key authenticated against MITM attacks.
    case authenticated
    /// Encrypted with an authenticated 128-bit key of LE Secure Connections.
    case secureConnections
}
