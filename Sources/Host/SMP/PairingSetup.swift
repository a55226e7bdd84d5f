import BBBluetoothCrypto
import BBPackets

/// Inputs of a pairing from host and link.
struct PairingSetup {
    /// Settings of this pairing; nil if the host does not pair.
    var settings: PairingSettings?
    var isCentral: Bool
    /// Addresses in the packets that created the connection, for c1, f5 and f6. Core Vol 3, Part H, 2.2.3.
    var own: DeviceAddress
    var peer: DeviceAddress
    /// Identity address and IRK that this device distributes with IdKey.
    var identity: DeviceAddress
    var identityResolvingKey: [UInt8]
    /// Existing bond with the peer.
    var bond: Bond?
    /// Out-of-band data of this device that the peer may have.
    var outOfBand: LocalOutOfBandData?
    /// The waiting interval after a failed attempt has not elapsed. Core Vol 3, Part H, 2.3.6.
    var mustWait: Bool
    /// Secrets of this pairing, with a separate stream for each purpose.
    var secrets: SecretSource
    var quirks: PairingQuirks

    /// Draws a nonce, or a random value of LE legacy pairing.
    func nonce(_ source: inout SecretSource) -> UInt128 { quirks.repeatsNonces ? 0x5A : source.key() }
}

/// Out-of-band data created by this device, with the key pair.
struct LocalOutOfBandData {
    var keyPair: P256KeyPair
    var random: UInt128
    private var failures = 0

    init(using secrets: inout SecretSource) {
        keyPair = .generate(using: &secrets)
        random = secrets.key()
    }

    /// This data after a failed pairing; nil if its key pair must be replaced: S + 3F > 8. Core Vol 3, Part H, 2.3.5.6.1.
    var afterFailure: LocalOutOfBandData? {
        guard 3 * (failures + 1) <= 8 else { return nil }
        var kept = self
        kept.failures += 1
        return kept
    }

    var data: OutOfBandData {
        let x = keyPair.publicKey.x
        let confirm = SecurityToolbox.f4(u: x, v: x, x: random, z: 0)
        return OutOfBandData(confirm: confirm.littleEndianOctets, random: random.littleEndianOctets)
    }
}

/// Reason why this device rejects a pairing.
struct PairingRefusal: Error, Equatable {
    var reason: PairingFailedReason
    init(_ reason: PairingFailedReason) { self.reason = reason }
}
