import BBPackets

/// Cryptographic functions of LE pairing. Core Vol 3, Part H, 2.2. Numbers have their most significant octet first.
public enum SecurityToolbox {
    /// An address in the form used by f5 and f6: the type octet, then the 48 bits.
    static func typed(_ address: DeviceAddress) -> [UInt8] { [address.kind.rawValue] + address.octets.reversed() }

    /// Confirm value of legacy pairing, 2.2.3. `request` and `response` are the commands as sent, opcode first.
    public static func c1(
        k: UInt128, r: UInt128, request: [UInt8], response: [UInt8], initiator: DeviceAddress, responder: DeviceAddress
    ) -> UInt128 {
        let p1 = UInt128(octets: response.reversed() + request.reversed() + [responder.kind.rawValue, initiator.kind.rawValue])
        let p2 = UInt128(initiator.value) << 48 | UInt128(responder.value)
        let key = AESKey(k)
        return key.encrypt(key.encrypt(r ^ p1) ^ p2)
    }

    /// Short-term key of legacy pairing, 2.2.4.
    public static func s1(k: UInt128, r1: UInt128, r2: UInt128) -> UInt128 {
        let mask = UInt128(UInt64.max)
        return AESKey(k).encrypt((r1 & mask) << 64 | (r2 & mask))
    }

    /// Confirm value of Secure Connections, 2.2.6.
    public static func f4(u: UInt256, v: UInt256, x: UInt128, z: UInt8) -> UInt128 {
        AESKey(x).cmac(u.octets + v.octets + [z])
    }

    /// MacKey and LTK of Secure Connections, 2.2.7.
    public static func f5(w: UInt256, n1: UInt128, n2: UInt128, a1: DeviceAddress, a2: DeviceAddress) -> (macKey: UInt128, ltk: UInt128) {
        let t = AESKey(AESKey(0x6C88_8391_AAF5_A538_6037_0BDB_5A60_83BE).cmac(w.octets))
        let body: [UInt8] = [0x62, 0x74, 0x6C, 0x65] + n1.octets + n2.octets + typed(a1) + typed(a2) + [0x01, 0x00]
        return (t.cmac([0] + body), t.cmac([1] + body))
    }

    /// Check value of Secure Connections, 2.2.8. `ioCap`: AuthReq, OOB flag and IO capability, most significant first.
    public static func f6(
        w: UInt128, n1: UInt128, n2: UInt128, r: UInt128, ioCap: [UInt8], a1: DeviceAddress, a2: DeviceAddress
    ) -> UInt128 {
        AESKey(w).cmac(n1.octets + n2.octets + r.octets + ioCap + typed(a1) + typed(a2))
    }

    /// Numeric comparison value, 2.2.9: all 32 bits. Users see it modulo 1,000,000.
    public static func g2(u: UInt256, v: UInt256, x: UInt128, y: UInt128) -> UInt32 {
        UInt32(truncatingIfNeeded: AESKey(x).cmac(u.octets + v.octets + y.octets))
    }

    /// Link key conversion, 2.2.10.
    public static func h6(w: UInt128, keyID: UInt32) -> UInt128 { AESKey(w).cmac(octets(keyID)) }
    /// Link key conversion, 2.2.11.
    public static func h7(salt: UInt128, w: UInt128) -> UInt128 { AESKey(salt).cmac(w.octets) }
    /// Key generation of encrypted isochronous groups. Core Vol 3, Part H, 2.2.12.
    public static func h8(k: UInt128, s: UInt128, keyID: UInt32) -> UInt128 { AESKey(AESKey(s).cmac(k.octets)).cmac(octets(keyID)) }

    /// The 24-bit hash of a resolvable private address, 2.2.2.
    public static func ah(irk: UInt128, prand: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: AESKey(irk).encrypt(UInt128(prand & 0xFF_FFFF))) & 0xFF_FFFF
    }

    private static func octets(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) } }
}

/// Cross-transport key derivation. Core Vol 3, Part H, 2.4.2.4 and 2.4.2.5.
public enum KeyDerivation {
    /// Derives the link key from an LTK.
    ///
    /// - Parameter h7: true if both devices set CT2.
    public static func linkKey(fromLTK ltk: UInt128, h7: Bool) -> UInt128 {
        SecurityToolbox.h6(w: intermediate(ltk, h7, tag: 0x746D_7031), keyID: 0x6C65_6272)
    }

    /// Derives the LTK from a link key.
    ///
    /// - Parameter h7: true if both devices set CT2.
    public static func ltk(fromLinkKey key: UInt128, h7: Bool) -> UInt128 {
        SecurityToolbox.h6(w: intermediate(key, h7, tag: 0x746D_7032), keyID: 0x6272_6C65)
    }

    private static func intermediate(_ key: UInt128, _ h7: Bool, tag: UInt32) -> UInt128 {
        h7 ? SecurityToolbox.h7(salt: UInt128(tag), w: key) : SecurityToolbox.h6(w: key, keyID: tag)
    }
}

extension DeviceAddress {
    /// A resolvable private address. Core Vol 6, Part B, 1.3.2.2.
    ///
    /// - Parameter prand: 24 random bits; the upper two are set to 0b01.
    public static func resolvable(irk: UInt128, prand: UInt32) -> DeviceAddress {
        let prand = prand & 0x3F_FFFF | 0x40_0000
        return DeviceAddress(value: UInt64(prand) << 24 | UInt64(SecurityToolbox.ah(irk: irk, prand: prand)), kind: .random)
    }

    /// True for a resolvable private address generated with this IRK. Core Vol 6, Part B, 1.3.2.3.
    public func resolves(with irk: UInt128) -> Bool {
        guard kind == .random, value >> 46 == 0b01 else { return false }
        return SecurityToolbox.ah(irk: irk, prand: UInt32(value >> 24)) == UInt32(value & 0xFF_FFFF)
    }
}
