import BluetoothCrypto
import Packets

/// How the payloads of a link are encrypted, as HCI tells it. Core Vol 4, Part E, 7.7.8.
enum ACLEncryptionMode: UInt8 {
    case off = 0
    case e0 = 1
    case aesCCM = 2
}

/// The keys of a connection. Numbers of many octets are kept as LMP and HCI send them, least significant octet first.
struct ACLSecurity: Equatable {
    /// The link key; nil where the host has not told one.
    var linkKey: [UInt8]?
    /// The Authenticated Ciphering Offset of the last authentication: twelve octets of E1, or eight of h5. Nil before.
    var cipheringOffset: [UInt8]?
    var mode = ACLEncryptionMode.off
    /// Between a stop and a start that belong together, as for a fresh key or a switch of roles.
    var isPaused = false
    /// In octets; 0 where the link is not encrypted.
    var keySize: UInt8 = 0
}

extension ACLLinkState {
    /// Whether both controllers and both hosts have Secure Connections: then authentication is mutual, and encryption AES-CCM. Core Vol 2, Part C, 4.2.1.
    var usesSecureConnections: Bool {
        let hosts = LMPHostFeatures(rawValue: settings.page(1) & (peerPages[1] ?? 0))
        let controllers = LMPFeaturesPage2(rawValue: settings.page(2) & (peerPages[2] ?? 0))
        return hosts.contains(.secureConnections) && controllers.contains(.secureConnections)
    }

    /// Whether both hosts have Secure Simple Pairing.
    var usesSimplePairing: Bool {
        bothSupport(.simplePairing) && LMPHostFeatures(rawValue: settings.page(1) & (peerPages[1] ?? 0)).contains(.simplePairing)
    }

    var addressOfCentral: BDADDR { role == .central ? own : peer }
    var addressOfPeripheral: BDADDR { role == .central ? peer : own }

    /// The answer to a challenge by E1, with the ciphering offset that it brings.
    func response(to rand: [UInt8], claimant: BDADDR) -> (sres: [UInt8], offset: [UInt8])? {
        guard let key = security.linkKey else { return nil }
        let result = AuthenticationFunctions.e1(
            key: UInt128(littleEndianOctets: key), rand: UInt128(littleEndianOctets: rand), claimant: claimant)
        return (result.sres.octets, Array(result.aco.littleEndianOctets.prefix(12)))
    }

    /// The answers of both sides by h4 and h5, with the ciphering offset that they bring.
    func confirmation(central: [UInt8], peripheral: [UInt8]) -> (central: [UInt8], peripheral: [UInt8], offset: [UInt8])? {
        guard let key = security.linkKey else { return nil }
        let device = SimplePairing.h4(t: UInt128(littleEndianOctets: key), a1: addressOfCentral, a2: addressOfPeripheral)
        let result = SimplePairing.h5(
            s: device, r1: UInt128(littleEndianOctets: central), r2: UInt128(littleEndianOctets: peripheral))
        return (result.sresCentral.octets, result.sresPeripheral.octets, result.aco.octets)
    }

    /// The encryption of payloads; nil before authentication.
    ///
    /// - Parameters:
    ///   - random: EN_RAND of LMP_start_encryption_req, from which the key of E0 is derived. AES-CCM takes nothing from it.
    ///   - size: of the key in octets.
    ///   - pause: the number of LMP_pause_encryption_aes_req, where encryption resumes: its least significant 64 bits are the IV of AES-CCM. At the start the IV is ACO, the
    ///     64 bits that h5 leaves.
    func encryption(with random: [UInt8], size: UInt8, resumedFrom pause: [UInt8]? = nil) -> PayloadEncryption? {
        guard let key = security.linkKey.map({ UInt128(littleEndianOctets: $0) }), let offset = security.cipheringOffset else { return nil }
        guard usesSecureConnections else {
            let number = UInt128(littleEndianOctets: offset + [UInt8](repeating: 0, count: max(0, 16 - offset.count)))
            let full = AuthenticationFunctions.e3(key: key, rand: UInt128(littleEndianOctets: random), cof: number)
            return EncryptionKeyLength.reduced(full, octets: Int(size)).map { .e0(key: $0, central: addressOfCentral) }
        }
        let aco = offset.prefix(8).reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let full = SimplePairing.h3(t: key, a1: addressOfCentral, a2: addressOfPeripheral, aco: aco)
        let mask = UInt128.max >> UInt128(128 - 8 * max(1, min(16, Int(size))))
        return .aesCCM(key: full & mask, iv: Array((pause ?? offset).prefix(8)))
    }
}

extension FixedWidthInteger {
    /// Least significant octet first.
    fileprivate var octets: [UInt8] { (0..<bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> Self(8 * $0)) } }
}
