import BBPackets

/// Security mode 4 levels, as required by BR/EDR services. Core Vol 3, Part C, 5.2.2.8.
public enum SecurityMode4Level: Int, Sendable, Comparable, CaseIterable {
    /// Not encrypted; sufficient for service discovery only.
    case open
    /// Encrypted with a key that others may know.
    case low
    /// Encrypted with an unauthenticated key.
    case unauthenticated
    /// Encrypted with a key authenticated against MITM attacks.
    case authenticated
    /// Encrypted with AES-CCM and a 128-bit authenticated P-256 key.
    case secureConnections

    public static func < (a: SecurityMode4Level, b: SecurityMode4Level) -> Bool { a.rawValue < b.rawValue }
}

extension SecurityMode4Level {
    /// The corresponding LE security level.
    public var linkSecurity: LinkSecurity {
        switch self {
        case .open: .none
        case .low, .unauthenticated: .encrypted
        case .authenticated: .authenticated
        case .secureConnections: .secureConnections
        }
    }

    /// The lowest level that corresponds to an LE security level.
    init(_ level: LinkSecurity) {
        switch level {
        case .none: self = .open
        case .encrypted: self = .unauthenticated
        case .authenticated: self = .authenticated
        case .secureConnections: self = .secureConnections
        }
    }
}

extension LinkKey {
    /// The highest level that a link can reach with the key. A key from a PIN counts as unauthenticated, since the length of the PIN is
    /// unknown.
    var bestLevel: SecurityMode4Level { BREDREncryption(linkKey: self, isAESCCM: true, keySize: LongTermKeySize.maximum).level }
}

extension BREDREncryption {
    /// The level of a link with this encryption.
    var level: SecurityMode4Level {
        let strength = linkKey.strength
        switch linkKey.type {
        // The private key of debug mode is published; a unit key is the same for all peers.
        case .debugCombination, .localUnit, .remoteUnit: return .low
        case _ where !strength.isAuthenticated: return .unauthenticated
        default:
            let isWhole = min(strength.size, keySize) == LongTermKeySize.maximum
            return strength.isSecureConnections && isAESCCM && isWhole ? .secureConnections : .authenticated
        }
    }
}
