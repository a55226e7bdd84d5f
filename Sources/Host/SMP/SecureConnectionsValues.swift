import BBBluetoothCrypto
import BBPackets

/// Values of LE Secure Connections pairing in either role, once the public keys are exchanged. Core Vol 3, Part H, 2.3.5.6.
struct SecureConnectionsValues {
    let terms: PairingTerms
    private let ownKey: P256PublicKey
    private let peerKey: P256PublicKey
    private let dhKey: UInt256
    private var nonces: SecretSource
    /// The passkey to display, if this device displays it.
    let shownPasskey: UInt32
    /// Na and Nb: own and peer nonce.
    private(set) var ownNonce: UInt128
    var peerNonce: UInt128 = 0
    /// ra and rb: 0, the passkey, or the out-of-band random value.
    private var ownSecret: UInt128 = 0
    private var peerSecret: UInt128 = 0

    /// - Throws: the reason for rejecting the peer's public key.
    init(_ key: SecureConnectionsKey, _ received: SMP.PairingPublicKey) throws(PairingRefusal) {
        guard let x = UInt256(littleEndianOctets: received.publicKeyX), let y = UInt256(littleEndianOctets: received.publicKeyY) else {
            throw PairingRefusal(.invalidParameters)
        }
        terms = key.terms
        peerKey = P256PublicKey(x: x, y: y)
        ownKey = key.sentKey(to: peerKey)
        nonces = terms.setup.secrets.stream("nonces")
        dhKey = try Self.secret(key.pair, peerKey, terms)
        ownNonce = terms.setup.nonce(&nonces)
        shownPasskey = terms.drawPasskey()
        if terms.association == .outOfBand { try takeOutOfBandData() }
    }

    /// Computes the DHKey.
    ///
    /// - Throws: DHKey Check Failed for a point that is not on the curve and for the own public key. Core Vol 3, Part H, 3.5.5.
    private static func secret(
        _ own: P256KeyPair, _ peer: P256PublicKey, _ terms: PairingTerms
    ) throws(PairingRefusal) -> UInt256 {
        let quirks = terms.setup.quirks
        if quirks.computesWithZeroKey { return UInt256(high: 0, low: 0) }
        do {
            return try own.pairingSecret(with: peer, acceptsDebugKey: terms.settings.acceptsDebugKeys || terms.settings.usesDebugKeys)
        } catch .debugKey {
            throw PairingRefusal(.authenticationRequirements)
        } catch {
            if error == .ownKey, quirks.acceptsReflectedKey, let secret = try? own.sharedSecret(with: peer) { return secret }
            if error == .pointNotOnCurve, quirks.skipsCurveCheck { return UInt256(high: 0, low: 0) }
            throw PairingRefusal(.dhKeyCheckFailed)
        }
    }

    /// Checks the peer's out-of-band commitment. Core Vol 3, Part H, 2.3.5.6.4.
    private mutating func takeOutOfBandData() throws(PairingRefusal) {
        if terms.peerFeatures.outOfBandFlag == 1 { ownSecret = terms.setup.outOfBand?.random ?? 0 }
        guard terms.ownFeatures.outOfBandFlag == 1, !terms.setup.quirks.claimsOutOfBandData else { return }
        guard let data = terms.settings.outOfBandData, let confirm = data.confirm, let random = data.random else {
            throw PairingRefusal(.oobNotAvailable)
        }
        peerSecret = UInt128(littleEndianOctets: random)
        let expected = SecurityToolbox.f4(u: peerKey.x, v: peerKey.x, x: peerSecret, z: 0)
        guard expected == UInt128(littleEndianOctets: confirm) || terms.setup.quirks.acceptsAnyConfirm else {
            throw PairingRefusal(.confirmValueFailed)
        }
    }

    /// This device's public key as it is sent.
    var publicKeyPDU: [UInt8] { SecureConnectionsKey.pdu(ownKey) }

    // MARK: Authentication stage 1

    mutating func use(passkey: UInt32) { (ownSecret, peerSecret) = (UInt128(passkey), UInt128(passkey)) }
    mutating func drawNonce() { ownNonce = terms.setup.nonce(&nonces) }

    /// Number of rounds of authentication stage 1: one for each bit of a passkey.
    var rounds: Int { if case .passkeyEntry = terms.association { 20 } else { 1 } }

    /// Input z of f4 in a round: a bit of the passkey, or 0. Core Vol 3, Part H, 2.3.5.6.3.
    private func input(_ round: Int) -> UInt8 {
        guard rounds > 1 else { return 0 }
        return 0x80 | UInt8(truncatingIfNeeded: ownSecret >> UInt128(round) & 1)
    }

    func commitment(round: Int) -> UInt128 { SecurityToolbox.f4(u: ownKey.x, v: peerKey.x, x: ownNonce, z: input(round)) }

    /// True if the peer's nonce matches its commitment.
    func isConfirmed(_ confirm: UInt128, round: Int) -> Bool {
        terms.setup.quirks.acceptsAnyConfirm
            || confirm == SecurityToolbox.f4(u: peerKey.x, v: ownKey.x, x: peerNonce, z: input(round))
    }

    private var isInitiator: Bool { terms.role == .initiator }

    /// The number that users compare, 0...999999.
    var comparedNumber: UInt32 {
        let number =
            isInitiator
            ? SecurityToolbox.g2(u: ownKey.x, v: peerKey.x, x: ownNonce, y: peerNonce)
            : SecurityToolbox.g2(u: peerKey.x, v: ownKey.x, x: peerNonce, y: ownNonce)
        return number % 1_000_000
    }

    // MARK: Authentication stage 2

    /// MacKey and LTK.
    private var keys: (macKey: UInt128, ltk: UInt128) {
        SecurityToolbox.f5(
            w: dhKey, n1: isInitiator ? ownNonce : peerNonce, n2: isInitiator ? peerNonce : ownNonce, a1: terms.initiator,
            a2: terms.responder)
    }

    var longTermKey: UInt128 { keys.ltk }

    /// The check value to send: Ea or Eb.
    var ownCheck: UInt128 {
        SecurityToolbox.f6(
            w: keys.macKey, n1: ownNonce, n2: peerNonce, r: peerSecret, ioCap: terms.ownFeatures.checkedOctets, a1: terms.setup.own,
            a2: terms.setup.peer)
    }

    func isChecked(_ value: UInt128) -> Bool {
        if terms.setup.quirks.acceptsAnyDHKeyCheck { return true }
        return value
            == SecurityToolbox.f6(
                w: keys.macKey, n1: peerNonce, n2: ownNonce, r: ownSecret, ioCap: terms.peerFeatures.checkedOctets, a1: terms.setup.peer,
                a2: terms.setup.own)
    }
}

/// State before the peer's public key is known: the agreed features and the own key pair.
struct SecureConnectionsKey {
    let terms: PairingTerms
    fileprivate let pair: P256KeyPair

    /// Uses the key pair of the out-of-band data if the peer may have it, the debug key pair if requested, otherwise a new one.
    init(_ terms: PairingTerms) {
        self.terms = terms
        if terms.peerFeatures.outOfBandFlag == 1, let outOfBand = terms.setup.outOfBand {
            pair = outOfBand.keyPair
        } else if terms.settings.usesDebugKeys, let debug = try? P256KeyPair.debug() {
            pair = debug
        } else {
            var secrets = terms.setup.secrets.stream("key pair")
            pair = .generate(using: &secrets)
        }
    }

    /// The public key that is sent, to a peer whose own is known or not.
    fileprivate func sentKey(to peer: P256PublicKey?) -> P256PublicKey {
        terms.setup.quirks.publicKeyFault?.key(pair.publicKey, peer: terms.role == .responder ? peer : nil) ?? pair.publicKey
    }

    var pdu: [UInt8] { Self.pdu(sentKey(to: nil)) }

    fileprivate static func pdu(_ key: P256PublicKey) -> [UInt8] {
        SMP.PairingPublicKey(publicKeyX: key.x.littleEndianOctets, publicKeyY: key.y.littleEndianOctets).bytes
    }

    /// Returns the values of the pairing with the peer's public key.
    ///
    /// - Throws: the reason for rejecting the peer's public key.
    func values(with peerKey: SMP.PairingPublicKey) throws(PairingRefusal) -> SecureConnectionsValues {
        try SecureConnectionsValues(self, peerKey)
    }
}
