import BluetoothCrypto
import Packets

/// What a pairing needs to know of its host and its link.
struct PairingSetup {
    /// Nil if the host does not pair.
    var settings: PairingSettings?
    var isCentral: Bool
    /// The addresses in the packets that made the connection: c1, f5 and f6 take them. Core Vol 3, Part H, 2.2.3.
    var own: DeviceAddress
    var peer: DeviceAddress
    /// What this side tells of itself when it distributes IdKey.
    var identity: DeviceAddress
    var identityResolvingKey: [UInt8]
    /// What is shared with the peer already.
    var bond: Bond?
    /// What the peer may have from this side by other means.
    var outOfBand: LocalOutOfBandData?
    /// The last attempt failed too short a time ago. Core Vol 3, Part H, 2.3.6.
    var mustWait: Bool
    /// Of this pairing; each purpose has a stream of its own.
    var secrets: SecretSource
    var quirks: PairingQuirks
}

/// What this side told a peer by other means, with the key pair that it belongs to.
struct LocalOutOfBandData {
    var keyPair: P256KeyPair
    var random: UInt128
    private var failures = 0

    init(using secrets: inout SecretSource) {
        keyPair = .generate(using: &secrets)
        random = secrets.key()
    }

    /// A key pair that S pairings have used with success, and F without, is renewed once S + 3F > 8. Core Vol 3, Part H, 2.3.5.6.1.
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

/// Why this side ends a pairing.
struct PairingRefusal: Error, Equatable {
    var reason: PairingFailedReason
    init(_ reason: PairingFailedReason) { self.reason = reason }
}
