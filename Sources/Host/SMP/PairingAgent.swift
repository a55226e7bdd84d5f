import BBBluetoothCrypto
import BBPackets
import BBTiming

/// The state of pairing shared by all links: settings, user, keys and out-of-band data. Core Vol 3, Part H.
final class PairingAgent {
    /// Settings of later pairings; nil if the host does not pair. Core Vol 3, Part H, 3.5.5.
    var settings: PairingSettings?
    var dialogue = PairingDialogue.unattended(accepts: true)
    private(set) var outOfBandData: LocalOutOfBandData?
    private var attempts = RepeatedAttempts()
    /// Source of keys and nonces.
    private var secrets: SecretSource
    private let addresses: OwnAddresses
    private let context: HostContext

    init(_ secrets: SecretSource, _ addresses: OwnAddresses, _ context: HostContext) {
        (self.secrets, self.addresses, self.context) = (secrets, addresses, context)
    }

    func makeOutOfBandData() -> OutOfBandData {
        let made = LocalOutOfBandData(using: &secrets)
        outOfBandData = made
        return made.data
    }

    /// Returns the setup of a pairing on a connection.
    ///
    /// - Parameter mayPair: false if no pairing can follow; no keys are then created and stored.
    func setup(for connection: Connection, mayPair: Bool) -> PairingSetup {
        let peer = connection.addresses.peer
        let quirks = context.quirks.pairing
        return PairingSetup(
            settings: settings, isCentral: connection.isCentral, own: connection.addresses.own ?? addresses.current, peer: peer,
            identity: context.keys.identityAddress ?? addresses.current,
            identityResolvingKey: mayPair ? identityResolvingKey() : [UInt8](repeating: 0, count: 16),
            bond: context.keys[connection.peer], outOfBand: outOfBandData,
            mustWait: !quirks.allowsRepeatedAttempts && attempts.mustWait(peer, at: context.loop.now),
            secrets: mayPair ? pairingSecrets() : .system, quirks: quirks)
    }

    /// Over BR/EDR both devices use their public addresses; the LE keys are stored under each device's LE identity.
    func setup(for connection: ClassicConnection) -> PairingSetup {
        PairingSetup(
            settings: settings, isCentral: connection.isCentral, own: connection.host.controller.address, peer: connection.peer.address,
            identity: context.keys.identityAddress ?? addresses.current, identityResolvingKey: identityResolvingKey(),
            bond: context.keys[connection.peer], outOfBand: nil, mustWait: false, secrets: pairingSecrets(),
            quirks: context.quirks.pairing)
    }

    /// Secrets of one pairing.
    private func pairingSecrets() -> SecretSource {
        let number = secrets.next()
        return secrets.stream("pairing \(number)")
    }

    /// The IRK that the host distributes, created once. Core Vol 3, Part H, 2.4.2.1.
    func identityResolvingKey() -> [UInt8] {
        context.keys.refresh()
        if let key = context.keys.identityResolvingKey { return key }
        let key = secrets.octets(16)
        context.keys.identityResolvingKey = key
        // Another program may have stored one in the bond file in between.
        return context.keys.identityResolvingKey ?? key
    }

    /// Records a successful pairing.
    ///
    /// - Parameter usedData: true if the peer had the out-of-band data of this side.
    func succeeded(with peer: DeviceAddress, usedData: Bool) {
        attempts.succeeded(peer)
        if usedData { outOfBandData = nil }
    }

    func failed(with peer: DeviceAddress, _ error: HostError, usedData: Bool) {
        attempts.failed(peer, error, at: context.loop.now)
        if usedData { outOfBandData = outOfBandData?.afterFailure }
    }
}

extension Host {
    /// Settings of pairing; nil to reject pairing. Core Vol 3, Part H, 3.5.5.
    public var pairingSettings: PairingSettings? {
        get { pairing.settings }
        set { pairing.settings = newValue }
    }
    /// The user interface of pairing; by default it accepts everything, but has no passkey.
    public var pairingDialogue: PairingDialogue {
        get { pairing.dialogue }
        set { pairing.dialogue = newValue }
    }

    /// Out-of-band data: the commitment to a new key pair, used with peers that have the data. Core Vol 3, Part H, 2.3.5.6.4.
    public func makeOutOfBandData() -> OutOfBandData { pairing.makeOutOfBandData() }
}
