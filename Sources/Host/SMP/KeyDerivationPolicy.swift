import Packets

/// Whether a key of one transport gives one of the other. Core Vol 3, Part C, 14.1; Part H, 2.4.2.4, 2.4.2.5 and 3.6.1.
public enum KeyDerivationPolicy {
    /// Why it does not, the first of all reasons.
    public enum Impediment: Sendable, Hashable, CaseIterable {
        /// Not both sides have set LinkKey, or EncKey over BR/EDR, for both directions.
        case notAgreed
        /// The key comes of LE legacy pairing, or of P-192, a PIN or debug mode.
        case notSecureConnections
        /// The link is not encrypted with AES-CCM, which is what shows that both sides have the key.
        case notAESCCM
        /// Less than 7 octets.
        case tooShort
        /// A device without a public address has none on BR/EDR.
        case noPublicIdentity
        /// The key that is there is worth more.
        case weaker
    }

    /// From LE to BR/EDR.
    ///
    /// - Parameters:
    ///   - identities: of both sides.
    ///   - known: the link key that is there.
    static func impediment(
        toLinkKeyFrom longTermKey: KeyStrength, isAgreed: Bool, identities: [DeviceAddress], over known: LinkKey?
    ) -> Impediment? {
        if let impediment = impediment(longTermKey, isAgreed) { return impediment }
        if identities.contains(where: { $0.kind != .public }) { return .noPublicIdentity }
        return known.map { longTermKey.isWeaker(than: $0.strength) } ?? false ? .weaker : nil
    }

    /// From BR/EDR to LE.
    ///
    /// - Parameters:
    ///   - size: octets of the key that would come of it.
    ///   - known: what the LTK that is there is worth.
    static func impediment(
        toLongTermKeyFrom link: BREDREncryption, isAgreed: Bool, size: Int, over known: KeyStrength?
    ) -> Impediment? {
        var strength = link.linkKey.strength
        strength.size = min(strength.size, size)
        if let impediment = impediment(strength, isAgreed) { return impediment }
        guard link.isAESCCM else { return .notAESCCM }
        return known.map(strength.isWeaker) ?? false ? .weaker : nil
    }

    /// Whether a host that departs from good conduct goes on all the same.
    ///
    /// - Parameter replacesStronger: it puts such a key in the place of any other.
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

/// How a BR/EDR link is encrypted.
struct BREDREncryption: Sendable, Hashable {
    var linkKey: LinkKey
    /// AES-CCM, or else E0. Core Vol 4, Part E, 7.7.8.
    var isAESCCM: Bool
    /// Octets of the encryption key, 1...16. Core Vol 4, Part E, 7.5.7.
    var keySize: Int

    /// E0 although the key is one of P-256: two devices with Secure Connections encrypt with AES-CCM. Core Vol 2, Part C, 4.2.5.
    var isDowngraded: Bool { linkKey.strength.isSecureConnections && !isAESCCM }
}
