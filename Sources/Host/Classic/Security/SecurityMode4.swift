import Packets

/// What a service on BR/EDR asks of its link: the levels of security mode 4. Core Vol 3, Part C, 5.2.2.8.
public enum SecurityMode4Level: Int, Sendable, Comparable, CaseIterable {
    /// Nothing is encrypted: service discovery alone may do with that.
    case open
    /// Encrypted, with a key that others may have.
    case low
    /// Encrypted with a key that was agreed upon without protection against a man in the middle.
    case unauthenticated
    /// Encrypted with a key that a man in the middle cannot have.
    case authenticated
    /// Encrypted by AES-CCM with 128 bits of an authenticated key of P-256.
    case secureConnections

    public static func < (a: SecurityMode4Level, b: SecurityMode4Level) -> Bool { a.rawValue < b.rawValue }
}

extension SecurityMode4Level {
    /// What a link of LE of the same worth is.
    var linkSecurity: LinkSecurity {
        switch self {
        case .open: .none
        case .low, .unauthenticated: .encrypted
        case .authenticated: .authenticated
        case .secureConnections: .secureConnections
        }
    }

    /// The least that makes a link worth that much.
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
    /// The best that a link can reach with the key. One of a PIN counts as unauthenticated: how long the PIN was is not known.
    var bestLevel: SecurityMode4Level { BREDREncryption(linkKey: self, isAESCCM: true, keySize: LongTermKeySize.maximum).level }
}

extension BREDREncryption {
    /// What the link reaches.
    var level: SecurityMode4Level {
        let strength = linkKey.strength
        switch linkKey.type {
        // Everybody knows the private key of debug mode; a unit key is the same towards all.
        case .debugCombination, .localUnit, .remoteUnit: return .low
        case _ where !strength.isAuthenticated: return .unauthenticated
        default:
            let isWhole = min(strength.size, keySize) == LongTermKeySize.maximum
            return strength.isSecureConnections && isAESCCM && isWhole ? .secureConnections : .authenticated
        }
    }
}
