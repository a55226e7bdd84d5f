import Packets

/// What a link must have before an attribute is read or written.
struct AttributeProtection: Hashable {
    var level: LinkSecurity
    /// Octets of the encryption key, 7...16.
    var keySize: Int
    var isAuthorized: Bool

    /// Why an access is refused; nil if it is not. Core Vol 3, Part F, 4 and Part C, 10.3.1.
    ///
    /// On a link that is not encrypted the answer tells a client that shares a key with this device to use it, and any other to pair. A key that is
    /// not good enough asks for another pairing.
    func refusal(of access: AttributeAccess, in database: GATTDatabase) -> ATTErrorCode? {
        if level > .none || keySize > LongTermKeySize.minimum {
            guard access.security > .none else {
                return access.hasKey || database.choices.asksForEncryption ? .insufficientEncryption : .insufficientAuthentication
            }
            guard access.security >= level else { return .insufficientAuthentication }
            guard access.keySize >= keySize else { return .encryptionKeySizeTooShort }
        }
        return !isAuthorized || database.authorizes(access) ? nil : .insufficientAuthorization
    }
}

/// Octets of an encryption key. Core Vol 3, Part H, 2.3.4.
enum LongTermKeySize {
    static let minimum = 7
    static let maximum = 16
}

extension AttributePermissions {
    /// What a link must have for a read.
    func protectionForReading(keySize: Int) -> AttributeProtection {
        AttributeProtection(
            level: contains(.readSecureConnections)
                ? .secureConnections : contains(.readAuthenticated) ? .authenticated : contains(.readEncrypted) ? .encrypted : .none,
            keySize: keySize, isAuthorized: contains(.readAuthorized))
    }

    /// What a link must have for a write. One that must be signed needs encryption where it is not. Core Vol 3, Part C, 10.2.2.
    func protectionForWriting(keySize: Int) -> AttributeProtection {
        AttributeProtection(
            level: contains(.writeSecureConnections)
                ? .secureConnections
                : contains(.writeAuthenticated) ? .authenticated : isDisjoint(with: [.writeEncrypted, .writeSigned]) ? .none : .encrypted,
            keySize: keySize, isAuthorized: contains(.writeAuthorized))
    }
}
