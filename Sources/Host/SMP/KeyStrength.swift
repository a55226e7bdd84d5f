/// Strength of a key of either transport.
struct KeyStrength: Sendable, Hashable {
    /// The pairing was protected against MITM attacks.
    var isAuthenticated: Bool
    /// The pairing used Secure Connections (P-256).
    var isSecureConnections: Bool
    /// Key size in octets, 7...16; 0 if there is no key.
    var size: Int

    /// LE security level of a link encrypted with such a key. Core Vol 3, Part C, 10.2.1.
    var level: LinkSecurity {
        guard isAuthenticated else { return .encrypted }
        return isSecureConnections && size == 16 ? .secureConnections : .authenticated
    }

    /// True if replacing the other key by this one would reduce any of the three properties. Core Vol 3, Part C, 14.1.
    func isWeaker(than other: KeyStrength) -> Bool {
        !isAuthenticated && other.isAuthenticated || !isSecureConnections && other.isSecureConnections || size < other.size
    }
}
