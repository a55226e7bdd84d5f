import BBPackets

/// Decides if a key of one transport is derived from a key of the other. Core Vol 3, Part C, 14.1; Part H, 2.4.2.4, 2.4.2.5 and 3.6.1.
public enum KeyDerivationPolicy {
    /// Reason for not deriving a key; the first one that applies.
    public enum Impediment: Sendable, Hashable, CaseIterable {
        /// LinkKey, or EncKey over BR/EDR, is not set by both devices for both directions.
        case notAgreed
        /// The key is from LE legacy pairing, P-192, a PIN or debug mode.
        case notSecureConnections
        /// The link is not encrypted with AES-CCM, so that possession of the key is not proven.
        case notAESCCM
        /// The key has less than 7 octets.
        case tooShort
        /// A device without a public address cannot use BR/EDR.
        case noPublicIdentity
        /// The existing key is stronger.
        case weaker
    }

    /// Reason why an LE pairing gives no link key; nil if it gives one.
    ///
    /// - Parameters:
    ///   - identities: identity addresses of both devices.
    ///   - known: the existing link key.
    static func impediment(
        toLinkKeyFrom longTermKey: KeyStrength, isAgreed: Bool, identities: [DeviceAddress], over known: LinkKey?
    ) -> Impediment? {
        if let impediment = impediment(longTermKey, isAgreed) { return impediment }
        if identities.contains(where: { $0.kind != .public }) { return .noPublicIdentity }
        return known.map { longTermKey.isWeaker(than: $0.strength) } ?? false ? .weaker : nil
    }

    /// Reason why a BR/EDR pairing gives no LTK; nil if it gives one.
    ///
    /// - Parameters:
    ///   - size: size of the derived key in octets.
    ///   - known: strength of the existing LTK.
    static func impediment(
        toLongTermKeyFrom link: BREDREncryption, isAgreed: Bool, size: Int, over known: KeyStrength?
    ) -> Impediment? {
        var strength = link.linkKey.strength
        strength.size = min(strength.size, size)
        if let impediment = impediment(strength, isAgreed) { return impediment }
        guard link.isAESCCM else { return .notAESCCM }
        return known.map(strength.isWeaker) ?? false ? .weaker : nil
    }

    /// True if a host with injected faults ignores the impediment.
    ///
    /// - Parameter replacesStronger: it replaces stronger keys.
    static func isOverlooked(_ impediment: Impediment, _ quirks: PairingQuirks, replacesStronger: Bool) -> Bool {
        switch impediment {
        case .notSecureConnections, .notAESCCM: quirks.derivesFromWeakKeys
        case .weaker: replacesStronger
        case .notAgreed, .tooShort, .noPublicIdentity: false
        }
    }

    private static func impediment(_ source: KeyStrength, _ isAgreed: Bool) -> Impediment? {
        guard isAgreed else { return .notAgreed }
        guard source.isSecureConnections else { return .notSecureConnections }
        return source.size < LongTermKeySize.minimum ? .tooShort : nil
    }
}

/// Encryption of a BR/EDR link.
struct BREDREncryption: Sendable, Hashable {
    var linkKey: LinkKey
    /// True for AES-CCM, false for E0. Core Vol 4, Part E, 7.7.8.
    var isAESCCM: Bool
    /// Encryption key size in octets, 1...16. Core Vol 4, Part E, 7.5.7.
    var keySize: Int

    /// True for E0 with a P-256 link key: two devices with Secure Connections must use AES-CCM. Core Vol 2, Part C, 4.2.5.
    var isDowngraded: Bool { linkKey.strength.isSecureConnections && !isAESCCM }
}
