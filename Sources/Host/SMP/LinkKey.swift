import BluetoothCrypto
import Packets

/// The key of a BR/EDR link, which authenticates the peer and makes the keys that encrypt. Core Vol 2, Part H, 3.
public struct LinkKey: Sendable, Hashable {
    /// 16 octets, least significant first, as HCI carries it.
    public var value: [UInt8]
    /// What it is made of, and so what it is worth. Core Vol 4, Part E, 7.7.24.
    public var type: LinkKeyType
    /// Octets of the LTK that it was derived from, 7...16; 16 for a key of BR/EDR's own.
    public var size: Int

    public init(_ value: [UInt8], _ type: LinkKeyType, size: Int = 16) {
        self.value = value
        self.type = type
        self.size = size
    }

    /// What a pairing of LE leaves for BR/EDR. Core Vol 3, Part H, 2.4.2.4.
    ///
    /// - Parameters:
    ///   - longTermKey: before it is shortened.
    ///   - h7: both sides set CT2.
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

    /// The same key, made without protection against a man in the middle.
    var unauthenticated: LinkKey {
        switch type {
        case .authenticatedCombinationP192: LinkKey(value, .unauthenticatedCombinationP192, size: size)
        case .authenticatedCombinationP256: LinkKey(value, .unauthenticatedCombinationP256, size: size)
        default: self
        }
    }

    /// A key that took the place of another in an authenticated link is worth what that was. Core Vol 4, Part E, 7.7.24.
    func inPlace(of known: LinkKey?) -> LinkKey {
        guard type == .changedCombination, let known else { return self }
        return LinkKey(value, known.type, size: known.size)
    }
}

extension LongTermKey {
    /// What a pairing of BR/EDR leaves for LE. Core Vol 3, Part H, 2.4.2.5.
    ///
    /// - Parameters:
    ///   - size: octets that count; the key is shortened after the derivation.
    ///   - h7: both sides set CT2.
    init(derivedFrom linkKey: LinkKey, size: Int, h7: Bool) {
        let key = KeyDerivation.ltk(fromLinkKey: UInt128(littleEndianOctets: linkKey.value), h7: h7)
        self.init(key.shortened(to: size).littleEndianOctets, size: size)
    }
}

extension UInt128 {
    /// A key of so many octets: those beyond are 0. Core Vol 3, Part H, 2.3.4.
    func shortened(to size: Int) -> UInt128 { size >= 16 ? self : self & ((1 << UInt128(8 * size)) - 1) }
}
