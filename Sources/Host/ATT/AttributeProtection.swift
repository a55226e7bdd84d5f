import BBPackets

/// Security required to read or write an attribute.
struct AttributeProtection: Hashable {
    var level: LinkSecurity
    /// Encryption key size in octets, 7...16.
    var keySize: Int
    var isAuthorized: Bool

    /// The rejection of an access; nil if it is allowed. Core Vol 3, Part F, 4 and Part C, 10.3.1.
    ///
    /// On an unencrypted link, the error code tells a client that shares a key to encrypt, and any other client to pair. A key that is too
    /// weak requires another pairing.
    func refusal(of access: AttributeAccess, in database: GATTDatabase) -> ATTServer.Refusal? {
        if let code = refusal(of: access, database.choices) { return ATTServer.Refusal(handle: access.handle, code: code) }
        guard isAuthorized else { return nil }
        return switch database.authorizes(access) {
        case .granted: nil
        case .refused: ATTServer.Refusal(handle: access.handle, code: .insufficientAuthorization)
        case .later: .later
        }
    }

    private func refusal(of access: AttributeAccess, _ choices: ServerChoices) -> ATTErrorCode? {
        if level > .none || keySize > LongTermKeySize.minimum {
            guard access.security > .none else {
                return access.hasKey || choices.asksForEncryption ? .insufficientEncryption : .insufficientAuthentication
            }
            guard access.security >= level else { return .insufficientAuthentication }
            guard access.keySize >= keySize else { return .encryptionKeySizeTooShort }
        }
        return nil
    }
}

/// Encryption key sizes in octets. Core Vol 3, Part H, 2.3.4.
enum LongTermKeySize {
    static let minimum = 7
    static let maximum = 16
}

extension AttributePermissions {
    /// Security required for a read.
    func protectionForReading(keySize: Int) -> AttributeProtection {
        AttributeProtection(
            level: contains(.readSecureConnections)
                ? .secureConnections : contains(.readAuthenticated) ? .authenticated : contains(.readEncrypted) ? .encrypted : .none,
            keySize: keySize, isAuthorized: contains(.readAuthorized))
    }

    /// Security required for a write. If a signature is required, encryption is accepted instead. Core Vol 3, Part C, 10.2.2.
    func protectionForWriting(keySize: Int) -> AttributeProtection {
        AttributeProtection(
            level: contains(.writeSecureConnections)
                ? .secureConnections
                : contains(.writeAuthenticated) ? .authenticated : isDisjoint(with: [.writeEncrypted, .writeSigned]) ? .none : .encrypted,
            keySize: keySize, isAuthorized: contains(.writeAuthorized))
    }
}
