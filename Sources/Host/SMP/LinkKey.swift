import BBBluetoothCrypto
import BBPackets

/// A BR/EDR link key, used for authentication and as the source of encryption keys. Core Vol 2, Part H, 3.
public struct LinkKey: Sendable, Hashable {
    /// 16 octets, least significant first, as in HCI.
    public var value: [UInt8]
    /// Key type, which determines its strength. Core Vol 4, Part E, 7.7.24.
    public var type: LinkKeyType
    /// Size in octets of the LTK from which it was derived, 7...16; 16 for a key from BR/EDR pairing.
    public var size: Int

    public init(_ value: [UInt8], _ type: LinkKeyType, size: Int = 16) {
        self.value = value
        self.type = type
        self.size = size
    }

    /// Link key derived from an LE pairing. Core Vol 3, Part H, 2.4.2.4.
    ///
    /// - Parameters:
    ///   - longTermKey: LTK before shortening.
    ///   - h7: true if both devices set CT2.
    init(derivedFrom longTermKey: UInt128, _ strength: KeyStrength, h7: Bool) {
        value = KeyDerivation.linkKey(fromLTK: longTermKey, h7: h7).littleEndianOctets
        type = strength.isAuthenticated ? .authenticatedCombinationP256 : .unauthenticatedCombinationP256
        size = strength.size
    }

    var strength: KeyStrength {
        KeyStrength(
            isAuthenticated: [.authenticatedCombinationP192, .authenticatedCombinationP256].contains(type),
            isSecureConnections: [.unauthenticatedCombinationP256, .authenticatedCombinationP256].contains(type), size: size)
    }

    /// The same key, marked as unauthenticated.
    var unauthenticated: LinkKey {
        switch type {
        case .authenticatedCombinationP192: LinkKey(value, .unauthenticatedCombinationP192, size: size)
        case .authenticatedCombinationP256: LinkKey(value, .unauthenticatedCombinationP256, size: size)
        default: self
        }
    }

    /// This key in place of an existing one. A changed combination key has its type and size. Core Vol 4, Part E, 7.7.24.
    func inPlace(of known: LinkKey?) -> LinkKey {
        guard type == .changedCombination, let known else { return self }
        return LinkKey(value, known.type, size: known.size)
    }
}

extension LongTermKey {
    /// LTK derived from a BR/EDR pairing. Core Vol 3, Part H, 2.4.2.5.
    ///
    /// - Parameters:
    ///   - size: key size in octets; the key is shortened after the derivation.
    ///   - h7: true if both devices set CT2.
    init(derivedFrom linkKey: LinkKey, size: Int, h7: Bool) {
        let key = KeyDerivation.ltk(fromLinkKey: UInt128(littleEndianOctets: linkKey.value), h7: h7)
        self.init(key.shortened(to: size).littleEndianOctets, size: size)
    }
}

extension UInt128 {
    /// Shortens a key to a number of octets; the others are 0. Core Vol 3, Part H, 2.3.4.
    func shortened(to size: Int) -> UInt128 { size >= 16 ? self : self & ((1 << UInt128(8 * size)) - 1) }
}
