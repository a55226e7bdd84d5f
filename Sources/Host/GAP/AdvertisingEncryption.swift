import BBBluetoothCrypto
import BBPackets

/// The encrypted part of advertising data. Core Vol 3, Part C, 10.10; Supplement, Part A, 1.23.
public struct EncryptedAdvertisement: Sendable, Hashable {
    public var material: AdvertisingKeyMaterial
    /// The AD structures to encrypt.
    public var payload: [UInt8]

    public init(_ payload: AdvertisingData, material: AdvertisingKeyMaterial) {
        self.material = material
        self.payload = payload.octets
    }
}

/// Encrypts the advertising data of a host, and decrypts that of peers whose key material it knows.
final class AdvertisingEncryption {
    private static let mostPeers = 256
    private let context: HostContext
    private var secrets: SecretSource
    /// The first randomizer, which an injected fault repeats.
    private var first: [UInt8]?
    private var peers: [PeerIdentity: AdvertisingKeyMaterial] = [:]

    init(_ context: HostContext, _ secrets: SecretSource) { (self.context, self.secrets) = (context, secrets) }

    /// The AD data of an Encrypted Data structure, with a new randomizer.
    func seal(_ payload: [UInt8], with material: AdvertisingKeyMaterial) -> [UInt8] {
        let quirks = context.quirks.advertising
        let drawn = secrets.octets(AdvertisingCipher.randomizerLength)
        let randomizer = quirks.repeatsRandomizer ? first ?? drawn : drawn
        first = first ?? drawn
        let reversed = quirks.reversesIV ? AdvertisingKeyMaterial(octets: material.sessionKey.octets + material.iv.reversed()) : nil
        return AdvertisingCipher(reversed ?? material).seal(payload, randomizer: randomizer)
    }

    /// The payload of an Encrypted Data structure; nil if its MIC is wrong.
    func open(_ data: [UInt8], with material: AdvertisingKeyMaterial) -> [UInt8]? {
        let cipher = AdvertisingCipher(material)
        if let payload = cipher.open(data) { return payload }
        guard context.quirks.advertising.acceptsAnyMIC, data.count > AdvertisingCipher.overhead else { return nil }
        // Encryption and decryption are the same operation on the payload.
        let length = AdvertisingCipher.randomizerLength
        let again = cipher.seal(
            [UInt8](data[length..<data.count - LinkCipher.micLength]), randomizer: [UInt8](data.prefix(length)))
        return [UInt8](again[length..<again.count - LinkCipher.micLength])
    }

    /// Advertising data as sent: the plain structures, then the encrypted ones.
    func octets(_ plain: [UInt8], _ encrypted: EncryptedAdvertisement?) -> [UInt8] {
        guard let encrypted else { return plain }
        let sealed = seal(encrypted.payload, with: encrypted.material)
        return plain + AdvertisingElement.other(type: ADType.encryptedData, sealed).octets
    }

    // MARK: Peers

    subscript(peer: PeerIdentity) -> AdvertisingKeyMaterial? {
        get { peers[peer] }
        set { if newValue == nil || peers[peer] != nil || peers.count < Self.mostPeers { peers[peer] = newValue } }
    }

    /// The AD structures that a report has in encrypted form; nil if there are none, or if the key material is not known.
    func decrypted(_ report: AdvertisingReport) -> AdvertisingData? {
        guard !peers.isEmpty, let peer = report.identity ?? report.address.map({ PeerIdentity($0) }), let material = peers[peer] else {
            return nil
        }
        let payloads = report.data.encrypted.compactMap { open($0, with: material) }
        return payloads.isEmpty ? nil : AdvertisingData(payloads.flatMap { AdvertisingData(octets: $0).elements })
    }
}

extension AdvertisingData {
    /// The AD data of the Encrypted Data structures: randomizer, encrypted payload, MIC. Supplement, Part A, 1.23.2.
    public var encrypted: [[UInt8]] {
        elements.compactMap { if case .other(ADType.encryptedData, let data) = $0 { data } else { nil } }
    }
}

extension CharacteristicDefinition {
    /// Encrypted Data Key Material: it is read and indicated if authenticated and authorized, and never written. Core Vol 3, Part C, 12.6.
    public static func encryptedDataKeyMaterial(_ material: AdvertisingKeyMaterial) -> CharacteristicDefinition {
        var definition = CharacteristicDefinition(
            .encryptedDataKeyMaterial, properties: [.read, .indicate], permissions: [.read, .readAuthenticated, .readAuthorized],
            value: material.octets, maximumLength: AdvertisingKeyMaterial.length)
        definition.configurationPermissions = [.read, .write, .writeAuthenticated, .writeAuthorized]
        return definition
    }
}

extension GATTDatabase {
    /// Value handle of the first Encrypted Data Key Material.
    public var advertisingKeysHandle: UInt16? { valueHandle(of: .encryptedDataKeyMaterial) }
}

extension Host {
    /// The AD data of an Encrypted Data structure, with a new randomizer.
    public func encryptAdvertising(_ payload: [UInt8], with material: AdvertisingKeyMaterial) -> [UInt8] {
        advertisingEncryption.seal(payload, with: material)
    }

    /// The AD structures in an Encrypted Data structure; nil if its MIC is wrong.
    public func decryptAdvertising(_ data: [UInt8], with material: AdvertisingKeyMaterial) -> [UInt8]? {
        advertisingEncryption.open(data, with: material)
    }

    /// Sets the key material with which a peer encrypts its advertising data, for `AdvertisingReport.decrypted`; nil to forget it.
    public func setAdvertisingKeys(_ material: AdvertisingKeyMaterial?, of peer: PeerIdentity) { advertisingEncryption[peer] = material }

    /// Changes this host's Encrypted Data Key Material, and indicates it to the clients that have subscribed. Core Vol 3, Part C, 12.6.
    public func publishAdvertisingKeys(_ material: AdvertisingKeyMaterial) async {
        guard let handle = database.advertisingKeysHandle, database[handle] != material.octets else { return }
        database[handle] = material.octets
        guard !quirks.advertising.hidesNewKeys else { return }
        for link in connections where link.configuration(of: handle) & 2 != 0 {
            try? await link.indicate(handle, [UInt8](material.octets.prefix(link.values.longest)))
        }
    }

    /// Reads a peer's Encrypted Data Key Material, subscribes to new values, and decrypts its advertising data from now on. Core Vol 3,
    /// Part C, 10.10 and 12.6.
    ///
    /// - Returns: nil if the peer has none.
    /// - Throws: `HostError.peer(.att)` as long as the peer demands authentication or authorization.
    @discardableResult
    public func learnAdvertisingKeys(over link: Connection) async throws -> AdvertisingKeyMaterial? {
        guard let service = try await link.gatt.discoverServices(uuid: .genericAccess).first,
            let found = try await link.gatt.discoverCharacteristics(in: service, uuid: .encryptedDataKeyMaterial).first
        else { return nil }
        let learn: ([UInt8]) -> Void = { [weak self, peer = link.peer] octets in
            if let material = AdvertisingKeyMaterial(octets: octets) { self?.setAdvertisingKeys(material, of: peer) }
        }
        learn(try await link.gatt.readLong(found.value))
        if found.properties.contains(.indicate) {
            try await link.gatt.subscribe(found, .indication) { _, _, value in learn(value.octets) }
        }
        return advertisingEncryption[link.peer]
    }
}
