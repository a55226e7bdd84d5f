/// How well a link is protected, in the order of LE security mode 1, levels 1 to 4. Core Vol 3, Part C, 10.2.1.
public enum LinkSecurity: Sendable, Hashable, Comparable {
    /// Nothing is encrypted.
    case none
    /// Encrypted with a key that was agreed upon without protection against a man in the middle.
    case encrypted
    /// Encrypted with a key that a man in the middle cannot have.
    case authenticated
    /// Encrypted with an authenticated key of LE Secure Connections of 128 bits.
    case secureConnections
}
