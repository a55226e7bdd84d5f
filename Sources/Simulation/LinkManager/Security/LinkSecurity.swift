import BBBluetoothCrypto
import BBPackets

/// Encryption mode of a link as reported by HCI. Core Vol 4, Part E, 7.7.8.
enum ACLEncryptionMode: UInt8 {
    case off = 0
    case e0 = 1
    case aesCCM = 2
}

/// The keys of a connection. Multi-octet numbers are stored least significant octet first, as in LMP and HCI.
struct ACLSecurity: Equatable {
    /// The link key; nil if the host has not supplied one.
    var linkKey: [UInt8]?
    /// Authenticated ciphering offset (ACO) of the last authentication: twelve octets from E1 or eight from h5; nil before the first.
    var cipheringOffset: [UInt8]?
    var mode = ACLEncryptionMode.off
    /// True between pausing and resuming encryption, for a key refresh or a role switch.
    var isPaused = false
    /// Encryption key size in octets; 0 if the link is not encrypted.
    var keySize: UInt8 = 0
}

extension ACLLinkState {
    /// True if both controllers and both hosts support Secure Connections: authentication is then mutual, and encryption uses AES-CCM. Core
    /// Vol 2, Part C, 4.2.1.
    var usesSecureConnections: Bool {
        let hosts = LMPHostFeatures(rawValue: settings.page(1) & (peerPages[1] ?? 0))
        let controllers = LMPFeaturesPage2(rawValue: settings.page(2) & (peerPages[2] ?? 0))
        return hosts.contains(.secureConnections) && controllers.contains(.secureConnections)
    }

    /// True if both hosts support Secure Simple Pairing.
    var usesSimplePairing: Bool {
        bothSupport(.simplePairing) && LMPHostFeatures(rawValue: settings.page(1) & (peerPages[1] ?? 0)).contains(.simplePairing)
    }

    var addressOfCentral: BDADDR { role == .central ? own : peer }
    var addressOfPeripheral: BDADDR { role == .central ? peer : own }

    /// Response to a challenge by E1, and the resulting ACO.
    func response(to rand: [UInt8], claimant: BDADDR) -> (sres: [UInt8], offset: [UInt8])? {
        guard let key = security.linkKey else { return nil }
        let result = AuthenticationFunctions.e1(
            key: UInt128(littleEndianOctets: key), rand: UInt128(littleEndianOctets: rand), claimant: claimant)
        return (result.sres.octets, Array(result.aco.littleEndianOctets.prefix(12)))
    }

    /// Responses of both devices by h4 and h5, and the resulting ACO.
    func confirmation(central: [UInt8], peripheral: [UInt8]) -> (central: [UInt8], peripheral: [UInt8], offset: [UInt8])? {
        guard let key = security.linkKey else { return nil }
        let device = SimplePairing.h4(t: UInt128(littleEndianOctets: key), a1: addressOfCentral, a2: addressOfPeripheral)
        let result = SimplePairing.h5(
            s: device, r1: UInt128(littleEndianOctets: central), r2: UInt128(littleEndianOctets: peripheral))
        return (result.sresCentral.octets, result.sresPeripheral.octets, result.aco.octets)
    }

    /// Payload encryption parameters; nil before authentication.
    ///
    /// - Parameters:
    ///   - random: EN_RAND of LMP_start_encryption_req, used to derive the E0 key. AES-CCM does not use it.
    ///   - size: key size in octets.
    ///   - pause: number from LMP_pause_encryption_aes_req if encryption resumes; its least significant 64 bits are the IV of AES-CCM. At
    ///     the first start, the IV is the 64-bit ACO from h5.
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
    /// Octets, least significant first.
    fileprivate var octets: [UInt8] { (0..<bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> Self(8 * $0)) } }
}
