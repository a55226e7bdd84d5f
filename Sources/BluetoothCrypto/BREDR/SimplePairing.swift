internal import BBCLibCrypto
import BBPackets

/// Functions of Secure Simple Pairing and secure authentication. Core Vol 2, Part H, 7.7.
///
/// Numbers have their most significant octet first, as in the specification. An address is used as six octets, most significant first.
public enum SimplePairing {
    /// Commitment of a nonce, 7.7.1.
    ///
    /// - Parameters:
    ///   - u: x coordinate of the committing device's public key.
    ///   - v: x coordinate of the other device's public key.
    ///   - z: 0, or 0x80 plus one bit of the passkey.
    public static func f1<Number: WideNumber>(u: Number, v: Number, x: UInt128, z: UInt8) -> UInt128 {
        authenticationCode(key: x.octets, u.octets + v.octets + [z])
    }

    /// Numeric comparison value, 7.7.2: all 32 bits. Users see it modulo 1,000,000.
    public static func g<Number: WideNumber>(u: Number, v: Number, x: UInt128, y: UInt128) -> UInt32 {
        let message = u.octets + v.octets + x.octets + y.octets
        var hash = [UInt8](repeating: 0, count: 32)
        precondition(SHA256(message, message.count, &hash) != nil, "libcrypto does not provide SHA-256")
        return hash.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The link key, 7.7.3.
    ///
    /// - Parameters:
    ///   - w: DHKey.
    ///   - n1: nonce of the initiator, a1 its address; `n2` and `a2` are the responder's.
    public static func f2(w: some WideNumber, n1: UInt128, n2: UInt128, a1: BDADDR, a2: BDADDR) -> UInt128 {
        authenticationCode(key: w.octets, n1.octets + n2.octets + Self.linkKey + pair(a1, a2))
    }

    /// The DHKey check, 7.7.4.
    ///
    /// - Parameter ioCap: AuthReq, OOB flag and IO capability, most significant first: three octets.
    public static func f3(
        w: some WideNumber, n1: UInt128, n2: UInt128, r: UInt128, ioCap: [UInt8], a1: BDADDR, a2: BDADDR
    ) -> UInt128 {
        authenticationCode(key: w.octets, n1.octets + n2.octets + r.octets + ioCap + pair(a1, a2))
    }

    /// The encryption key for AES-CCM, 7.7.6.
    ///
    /// - Parameters:
    ///   - t: the link key.
    ///   - a1: the central's address, `a2` the peripheral's.
    ///   - aco: ACO from `h5`.
    public static func h3(t: UInt128, a1: BDADDR, a2: BDADDR, aco: UInt64) -> UInt128 {
        authenticationCode(key: t.octets, Self.encryptionKey + pair(a1, a2) + octets(aco))
    }

    /// The device authentication key, 7.7.7.
    ///
    /// - Parameters:
    ///   - t: the link key.
    ///   - a1: the central's address, `a2` the peripheral's.
    public static func h4(t: UInt128, a1: BDADDR, a2: BDADDR) -> UInt128 {
        authenticationCode(key: t.octets, Self.deviceKey + pair(a1, a2))
    }

    /// Results of `h5`: the responses of both devices and the ACO.
    public struct Confirmation: Sendable, Hashable {
        public var sresCentral: UInt32
        public var sresPeripheral: UInt32
        /// The Authenticated Ciphering Offset (ACO): 64 bits.
        public var aco: UInt64
    }

    /// Responses of both devices in secure authentication, 7.7.8.
    ///
    /// - Parameters:
    ///   - s: the device authentication key.
    ///   - r1: AU_RAND of the central, `r2` the peripheral's.
    public static func h5(s: UInt128, r1: UInt128, r2: UInt128) -> Confirmation {
        let code = authenticationCode(key: s.octets, r1.octets + r2.octets)
        return Confirmation(
            sresCentral: UInt32(truncatingIfNeeded: code >> 96), sresPeripheral: UInt32(truncatingIfNeeded: code >> 64),
            aco: UInt64(truncatingIfNeeded: code))
    }

    // The key identifiers "btlk", "btak" and "btdk".
    private static let linkKey: [UInt8] = [0x62, 0x74, 0x6C, 0x6B]
    private static let encryptionKey: [UInt8] = [0x62, 0x74, 0x61, 0x6B]
    private static let deviceKey: [UInt8] = [0x62, 0x74, 0x64, 0x6B]

    /// The upper half of HMAC-SHA-256.
    private static func authenticationCode(key: [UInt8], _ message: [UInt8]) -> UInt128 {
        var code = [UInt8](repeating: 0, count: 32)
        let result = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, nil)
        precondition(result != nil, "libcrypto does not provide HMAC-SHA-256")
        return UInt128(octets: code.prefix(16))
    }

    private static func pair(_ a1: BDADDR, _ a2: BDADDR) -> [UInt8] { a1.octets.reversed() + a2.octets.reversed() }

    private static func octets(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) } }
}
