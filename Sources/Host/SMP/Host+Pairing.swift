import BluetoothCrypto
import Packets

extension Host {
    /// Creates data to be sent to a peer out of band before pairing: the commitment to a new key pair, which is then used with peers that
    /// claim to have the data. Core Vol 3, Part H, 2.3.5.6.4.
    public func makeOutOfBandData() -> OutOfBandData {
        let made = LocalOutOfBandData(using: &secrets)
        outOfBandData = made
        return made.data
    }

    /// - Parameter mayPair: false if no pairing can follow; no keys are then created and stored.
    func pairingSetup(for connection: Connection, mayPair: Bool) -> PairingSetup {
        let peer = connection.addresses.peer
        let quirks = context.quirks.pairing
        return PairingSetup(
            settings: pairingSettings, isCentral: connection.isCentral, own: connection.addresses.own ?? address, peer: peer,
            identity: context.keys.identityAddress ?? address,
            identityResolvingKey: mayPair ? ownIdentityResolvingKey() : [UInt8](repeating: 0, count: 16),
            bond: context.keys[connection.peer], outOfBand: outOfBandData,
            mustWait: !quirks.allowsRepeatedAttempts && attempts.mustWait(peer, at: loop.now),
            secrets: mayPair ? pairingSecrets() : .system, quirks: quirks)
    }

    /// Secrets of one pairing.
    func pairingSecrets() -> SecretSource {
        let number = secrets.next()
        return secrets.stream("pairing \(number)")
    }

    /// The IRK that the host distributes, created once. Core Vol 3, Part H, 2.4.2.1.
    func ownIdentityResolvingKey() -> [UInt8] {
        if let key = context.keys.identityResolvingKey { return key }
        let key = secrets.octets(16)
        context.keys.identityResolvingKey = key
        return key
    }
}
