import BBBluetoothCrypto
import BBPackets

/// The functions of BR/EDR. SAFER+ and E0 use octets in the order of LMP and HCI, octet 0 first, and an address has its six octets in the
/// same order;
/// Secure Simple Pairing uses numbers and addresses with the most significant octet first.
extension Crypto {
    static func bredr(_ name: String, _ given: Arguments) throws -> [UInt8]? {
        try legacy(name, given) ?? simplePairing(name, given) ?? p192(name, given)
    }

    private static func legacy(_ name: String, _ given: Arguments) throws -> [UInt8]? {
        switch name {
        case "e1":
            let response = AuthenticationFunctions.e1(
                key: try given.linkKey(0), rand: try given.linkKey(1), claimant: try given.swappedAddress(2))
            return (UInt128(response.sres) | response.aco << 32).littleEndianOctets
        case "e21":
            return AuthenticationFunctions.e21(rand: try given.linkKey(0), address: try given.swappedAddress(1)).littleEndianOctets
        case "e22":
            return AuthenticationFunctions.e22(rand: try given.linkKey(0), pin: try given.octets(1), address: try given.swappedAddress(2))?
                .littleEndianOctets
        case "e3":
            return AuthenticationFunctions.e3(key: try given.linkKey(0), rand: try given.linkKey(1), cof: try given.linkKey(2))
                .littleEndianOctets
        case "reduced-key":
            return EncryptionKeyLength.reduced(try given.linkKey(0), octets: Int(truncatingIfNeeded: try given.key(1)))?.littleEndianOctets
        case "e0":
            // CLK26-1 in four octets, the least significant first, then the number of octets to encrypt.
            let clock = UInt32(truncatingIfNeeded: try given.linkKey(2)) << 1
            var stream = E0(key: try given.linkKey(0), central: try given.swappedAddress(1), clock: clock)
            var text = try given.octets(3)
            stream.apply(to: &text)
            return text
        default: return nil
        }
    }

    private static func simplePairing(_ name: String, _ given: Arguments) throws -> [UInt8]? {
        switch name {
        case "f1", "g": try given.octets(0).count == 24 ? commitment(name, given, UInt192.self) : commitment(name, given, UInt256.self)
        case "f2", "f3": try given.octets(0).count == 24 ? check(name, given, UInt192.self) : check(name, given, UInt256.self)
        case "h3":
            SimplePairing.h3(
                t: try given.key(0), a1: try given.plainAddress(1), a2: try given.plainAddress(2),
                aco: UInt64(truncatingIfNeeded: try given.key(3))
            ).octets
        case "h4": SimplePairing.h4(t: try given.key(0), a1: try given.plainAddress(1), a2: try given.plainAddress(2)).octets
        case "h5": h5(SimplePairing.h5(s: try given.key(0), r1: try given.key(1), r2: try given.key(2)))
        default: nil
        }
    }

    private static func commitment<Number: WideNumber>(_ name: String, _ given: Arguments, _: Number.Type) throws -> [UInt8] {
        let (u, v) = (try given.number(0, Number.self), try given.number(1, Number.self))
        guard name == "f1" else { return number(SimplePairing.g(u: u, v: v, x: try given.key(2), y: try given.key(3))) }
        return SimplePairing.f1(u: u, v: v, x: try given.key(2), z: UInt8(truncatingIfNeeded: try given.key(3))).octets
    }

    private static func check<Number: WideNumber>(_ name: String, _ given: Arguments, _: Number.Type) throws -> [UInt8] {
        let (w, n1, n2) = (try given.number(0, Number.self), try given.key(1), try given.key(2))
        guard name == "f3" else {
            return SimplePairing.f2(w: w, n1: n1, n2: n2, a1: try given.plainAddress(3), a2: try given.plainAddress(4)).octets
        }
        return SimplePairing.f3(
            w: w, n1: n1, n2: n2, r: try given.key(3), ioCap: try given.octets(4), a1: try given.plainAddress(5),
            a2: try given.plainAddress(6)
        ).octets
    }

    private static func h5(_ confirmation: SimplePairing.Confirmation) -> [UInt8] {
        number(confirmation.sresCentral) + number(confirmation.sresPeripheral) + UInt128(confirmation.aco).octets.suffix(8)
    }

    private static func p192(_ name: String, _ given: Arguments) throws -> [UInt8]? {
        switch name {
        case "p192-public-key":
            let key = try P192KeyPair(privateKey: given.number(0, UInt192.self)).publicKey
            return key.x.octets + key.y.octets
        case "p192-dhkey":
            let peer = P192PublicKey(x: try given.number(1, UInt192.self), y: try given.number(2, UInt192.self))
            return try P192KeyPair(privateKey: given.number(0, UInt192.self)).pairingSecret(with: peer).octets
        default: return nil
        }
    }
}

extension Crypto.Arguments {
    /// Returns a number with octet 0 first.
    fileprivate func linkKey(_ index: Int) throws -> UInt128 { UInt128(littleEndianOctets: try octets(index)) }

    fileprivate func number<Number: WideNumber>(_ index: Int, _: Number.Type) throws -> Number {
        guard let value = Number(octets: try octets(index)) else { throw Crypto.Refusal(text: "argument \(index) has another length") }
        return value
    }

    fileprivate func plainAddress(_ index: Int) throws -> BDADDR { BDADDR(UInt64(truncatingIfNeeded: try key(index))) }
    fileprivate func swappedAddress(_ index: Int) throws -> BDADDR { BDADDR(UInt64(truncatingIfNeeded: try linkKey(index))) }
}
