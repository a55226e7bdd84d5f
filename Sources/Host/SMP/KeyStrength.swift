/// What a key of either transport is worth.
struct KeyStrength: Sendable, Hashable {
    /// The pairing protected against a man in the middle.
    var isAuthenticated: Bool
    /// The pairing was one of Secure Connections: on P-256.
    var isSecureConnections: Bool
    /// Octets that count, 7...16; 0 if there is no key.
    var size: Int

    /// What a link of LE reaches with such a key. Core Vol 3, Part C, 10.2.1.
    var level: LinkSecurity {
        guard isAuthenticated else { return .encrypted }
        return isSecureConnections && size == 16 ? .secureConnections : .authenticated
    }

    /// Whether something would be lost by putting this key in the other's place: one of the three is less. Core Vol 3, Part C, 14.1.
    func isWeaker(than other: KeyStrength) -> Bool {
        !isAuthenticated && other.isAuthenticated || !isSecureConnections && other.isSecureConnections || size < other.size
    }
}
