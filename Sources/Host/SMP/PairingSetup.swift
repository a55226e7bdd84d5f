import BluetoothCrypto
import Packets
import Timing

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
    var random: RandomSource
    var quirks: PairingQuirks
}

/// What this side told a peer by other means, with the key pair that it belongs to.
struct LocalOutOfBandData {
    var keyPair: P256KeyPair
    var random: UInt128

    init(using source: inout RandomSource) {
        keyPair = .generate(using: &source)
        random = source.key()
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

extension RandomSource {
    /// 128 random bits.
    mutating func key() -> UInt128 { UInt128(next()) << 64 | UInt128(next()) }
}
