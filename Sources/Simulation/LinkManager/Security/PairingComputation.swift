import BBBluetoothCrypto
import BBPackets

/// Functions of Secure Simple Pairing on one of the two curves, with the local key pair and the peer's public key. Core Vol 2, Part H, 7.
///
/// Octets are least significant first, as in LMP and HCI.
protocol PairingComputation {
    /// Minor type of the encapsulated payload: 1 for P-192, 2 for P-256. Core Vol 2, Part C, 5.2.
    var minorType: UInt8 { get }
    /// Both coordinates of the local public key.
    var publicKey: [UInt8] { get }
    /// True if one of the devices uses the debug key pair.
    var usesDebugKey: Bool { get }
    /// Sets the peer's public key. Returns false if it is not on the curve or equals the local public key. Core Vol 2, Part H, 7.6.
    ///
    /// - Parameter isUnchecked: accepts any key, to inject a fault.
    mutating func take(_ publicKey: [UInt8], isUnchecked: Bool) -> Bool
    /// f1 over both public keys: commitment of the local or the peer's nonce.
    func commitment(isOwn: Bool, nonce: UInt128, z: UInt8) -> UInt128
    /// f1 over one public key: the out-of-band commitment.
    func outOfBandCommitment(isOwn: Bool, random: UInt128) -> UInt128
    /// g: the six-digit number.
    func comparedNumber(isInitiator: Bool, own: UInt128, peer: UInt128) -> UInt32
    /// f3: DHKey check.
    func check(_ terms: PairingCheck) -> UInt128
    /// f2: link key.
    func linkKey(initiator: BDADDR, responder: BDADDR, nonceOfInitiator: UInt128, nonceOfResponder: UInt128) -> UInt128
}

/// Inputs of a DHKey check. Core Vol 2, Part H, 7.7.4.
struct PairingCheck {
    /// Nonces of the device that proves and of the device that verifies.
    var nonces: (UInt128, UInt128)
    var random: UInt128
    var offer: IOOffer
    var addresses: (BDADDR, BDADDR)
}

struct CurveComputation<Pair: CurveKeyPair>: PairingComputation {
    let minorType: UInt8
    private let pair: Pair
    private let makeKey: @Sendable (Pair.PublicKey.Coordinate, Pair.PublicKey.Coordinate) -> Pair.PublicKey
    private var peer: Pair.PublicKey?
    private var secret: Pair.PublicKey.Coordinate?

    init(
        _ pair: Pair, minorType: UInt8,
        _ makeKey: @escaping @Sendable (Pair.PublicKey.Coordinate, Pair.PublicKey.Coordinate) -> Pair.PublicKey
    ) {
        self.pair = pair
        self.minorType = minorType
        self.makeKey = makeKey
    }

    var publicKey: [UInt8] { pair.publicKey.x.littleEndianOctets + pair.publicKey.y.littleEndianOctets }
    var usesDebugKey: Bool { pair.publicKey.isDebugKey || (peer?.isDebugKey ?? false) }

    mutating func take(_ publicKey: [UInt8], isUnchecked: Bool) -> Bool {
        let half = publicKey.count / 2
        guard let x = Pair.PublicKey.Coordinate(littleEndianOctets: Array(publicKey.prefix(half))),
            let y = Pair.PublicKey.Coordinate(littleEndianOctets: Array(publicKey.dropFirst(half)))
        else { return false }
        let key = makeKey(x, y)
        guard let secret = (try? pair.pairingSecret(with: key, acceptsDebugKey: true)) ?? (isUnchecked ? x : nil) else { return false }
        peer = key
        self.secret = secret
        return true
    }

    func commitment(isOwn: Bool, nonce: UInt128, z: UInt8) -> UInt128 {
        guard let peer else { return 0 }
        let (first, second) = isOwn ? (pair.publicKey.x, peer.x) : (peer.x, pair.publicKey.x)
        return SimplePairing.f1(u: first, v: second, x: nonce, z: z)
    }

    func outOfBandCommitment(isOwn: Bool, random: UInt128) -> UInt128 {
        guard let key = isOwn ? pair.publicKey : peer else { return 0 }
        return SimplePairing.f1(u: key.x, v: key.x, x: random, z: 0)
    }

    func comparedNumber(isInitiator: Bool, own: UInt128, peer nonce: UInt128) -> UInt32 {
        guard let peer else { return 0 }
        let (first, second) = isInitiator ? (pair.publicKey.x, peer.x) : (peer.x, pair.publicKey.x)
        let number = SimplePairing.g(u: first, v: second, x: isInitiator ? own : nonce, y: isInitiator ? nonce : own)
        return number % 1_000_000
    }

    func check(_ terms: PairingCheck) -> UInt128 {
        guard let secret else { return 0 }
        return SimplePairing.f3(
            w: secret, n1: terms.nonces.0, n2: terms.nonces.1, r: terms.random, ioCap: terms.offer.checked, a1: terms.addresses.0,
            a2: terms.addresses.1)
    }

    func linkKey(initiator: BDADDR, responder: BDADDR, nonceOfInitiator: UInt128, nonceOfResponder: UInt128) -> UInt128 {
        guard let secret else { return 0 }
        return SimplePairing.f2(w: secret, n1: nonceOfInitiator, n2: nonceOfResponder, a1: initiator, a2: responder)
    }
}

/// Key pairs and random numbers returned by Read_Local_OOB_Data, valid until a pairing is complete. Core Vol 4, Part E, 7.3.60.
struct LocalOutOfBandData {
    let p192: P192KeyPair
    let random192: UInt128
    let p256: P256KeyPair
    let random256: UInt128

    init(using secrets: inout SecretSource) {
        p192 = P192KeyPair.generate(using: &secrets)
        random192 = secrets.key()
        p256 = P256KeyPair.generate(using: &secrets)
        random256 = secrets.key()
    }

    var commitment192: UInt128 { SimplePairing.f1(u: p192.publicKey.x, v: p192.publicKey.x, x: random192, z: 0) }
    var commitment256: UInt128 { SimplePairing.f1(u: p256.publicKey.x, v: p256.publicKey.x, x: random256, z: 0) }
}
