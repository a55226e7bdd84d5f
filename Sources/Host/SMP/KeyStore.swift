import BBBluetoothCrypto
import BBPackets

/// Bonds of a host by peer identity, data stored with them, and the host's own identity. Hosts may share a store.
public final class KeyStore {
    struct Entry: Hashable {
        var bond: Bond
        /// The peer's configuration as a client of this host's server.
        var client: ClientRecord?
        /// Attributes discovered on the peer's server.
        var database: RemoteDatabase?
    }

    /// Everything that a bond file keeps.
    struct Content: Equatable {
        var identityAddress: DeviceAddress?
        var identityResolvingKey: [UInt8]?
        var entries: [PeerIdentity: Entry] = [:]
        var isOfVirtualTime = false

        var isEmpty: Bool { entries.isEmpty && identityAddress == nil && identityResolvingKey == nil }

        /// - Throws: `virtualTime` or `realTime`, the time in which the content was made, if it cannot serve the other one.
        func checkServes(virtualTime isVirtual: Bool) throws(BondFileError) {
            guard isOfVirtualTime != isVirtual, !isEmpty else { return }
            throw isOfVirtualTime ? .virtualTime : .realTime
        }
    }

    /// The present content. A bond file replaces it after it has merged the changes of other programs; this is not a change to save.
    var content: Content
    private var entries: [PeerIdentity: Entry] {
        get { content.entries }
        set { content.entries = newValue }
    }
    /// The host's IRK, 16 octets, least significant first; nil until pairing needs one. Core Vol 3, Part H, 2.4.2.1.
    public var identityResolvingKey: [UInt8]? {
        get { content.identityResolvingKey }
        set {
            content.identityResolvingKey = newValue
            changed()
        }
    }
    /// The host's static identity address; nil if the controller's public address is used. In a bond file, the first one stays.
    public var identityAddress: DeviceAddress? {
        get { content.identityAddress }
        set {
            content.identityAddress = newValue
            changed()
        }
    }
    /// True if keys and identity were made in virtual time, where secrets are a function of the seed: nobody may use them in real time.
    public internal(set) var isOfVirtualTime: Bool {
        get { content.isOfVirtualTime }
        set {
            content.isOfVirtualTime = newValue
            changed()
        }
    }
    /// Called after each change, to save the store.
    var onChange: (() -> Void)?
    /// Called by `refresh`, to take over the changes of other programs.
    var onRefresh: (() -> Void)?

    public init() { content = Content() }

    init(_ content: Content) { self.content = content }

    /// Takes over the changes that other programs have made in the bond file.
    func refresh() { onRefresh?() }

    /// All entries, sorted by identity address.
    var kept: [Entry] {
        entries.values.sorted {
            ($0.bond.identity.value, $0.bond.identity.kind.rawValue) < ($1.bond.identity.value, $1.bond.identity.kind.rawValue)
        }
    }

    /// The bond of a peer, found by its identity address, by its static address on the air, or by a private address that its IRK resolves.
    public subscript(peer: PeerIdentity) -> Bond? {
        get { entry(of: peer)?.bond }
        set {
            entries[peer] = newValue.map { Entry(bond: $0) }
            changed()
        }
    }

    /// All bonds, sorted by identity address.
    public var all: [Bond] { kept.map(\.bond) }

    /// Stores a bond under its identity; replaces the previous bond and the data stored with it.
    public func add(_ bond: Bond) {
        let peer = PeerIdentity(bond.identity)
        // An address belongs to one device only.
        for (other, entry) in entries where other != peer && entry.bond.addressOnAir == bond.addressOnAir {
            entries[other]?.bond.addressOnAir = nil
        }
        entries[peer] = Entry(bond: bond)
        changed()
    }

    /// Stores the link key of a device under its BD_ADDR, beside existing LE keys.
    public func keep(_ linkKey: LinkKey, of address: BDADDR) {
        let peer = PeerIdentity(DeviceAddress(address, kind: .public))
        let known = entries[peer]?.bond
        entries[peer, default: Entry(bond: Bond(peer.address))].bond.linkKey = linkKey.inPlace(of: known?.linkKey)
        changed()
    }

    /// The link key of a device.
    func linkKey(of address: BDADDR) -> LinkKey? { entries[PeerIdentity(DeviceAddress(address, kind: .public))]?.bond.linkKey }

    /// Removes a peer; false if it was unknown.
    @discardableResult
    public func remove(_ peer: PeerIdentity) -> Bool {
        guard let known = identity(of: peer.address), entries.removeValue(forKey: known) != nil else { return false }
        changed()
        return true
    }

    /// The bonded peer that uses an address, private or not.
    func identity(of address: DeviceAddress) -> PeerIdentity? {
        guard !entries.isEmpty else { return nil }
        if entries[PeerIdentity(address)] != nil { return PeerIdentity(address) }
        if address.isResolvable { return resolve(address) }
        return entries.first { $0.value.bond.addressOnAir == address }.map { PeerIdentity($0.key.address, isResolved: true) }
    }

    /// The bonded peer that uses a resolvable private address. Core Vol 6, Part B, 1.3.2.3.
    public func resolve(_ address: DeviceAddress) -> PeerIdentity? {
        guard address.isResolvable, !entries.isEmpty else { return nil }
        return all.first { $0.identityResolvingKey.map { address.resolves(with: UInt128(littleEndianOctets: $0)) } ?? false }
            .map { PeerIdentity($0.identity, isResolved: true) }
    }

    // MARK: Data stored with a bond

    /// Saves a changed bond, such as a new counter value.
    func update(_ bond: Bond) {
        entries[PeerIdentity(bond.identity)]?.bond = bond
        changed()
    }

    func client(of peer: PeerIdentity) -> ClientRecord? { entry(of: peer)?.client }
    func database(of peer: PeerIdentity) -> RemoteDatabase? { entry(of: peer)?.database }

    func keep(_ client: ClientRecord, of peer: PeerIdentity) {
        guard let peer = identity(of: peer.address), entries[peer]?.client != client else { return }
        entries[peer]?.client = client
        changed()
    }

    func keep(_ database: RemoteDatabase?, of peer: PeerIdentity) {
        guard let peer = identity(of: peer.address), entries[peer]?.database != database else { return }
        entries[peer]?.database = database
        changed()
    }

    private func entry(of peer: PeerIdentity) -> Entry? {
        identity(of: peer.address).flatMap { entries[$0] }
    }

    private func changed() { onChange?() }

    // MARK: Time

    /// Reserves the store for virtual or for real time. A store with content serves only the kind of time in which it was made.
    ///
    /// - Throws: `virtualTime` or `realTime`, the time in which the content was made.
    public func reserve(forVirtualTime isVirtual: Bool) throws(BondFileError) {
        guard isOfVirtualTime != isVirtual else { return }
        try content.checkServes(virtualTime: isVirtual)
        isOfVirtualTime = isVirtual
    }
}

extension DeviceAddress {
    /// True for a private address, resolvable or not, which changes regularly. Core Vol 6, Part B, 1.3.2.2.
    var isPrivate: Bool { kind == .random && value >> 46 != 0b11 }

    /// True for a resolvable private address, by its two most significant bits. Core Vol 6, Part B, 1.3.2.2.
    public var isResolvable: Bool { kind == .random && value >> 46 == 0b01 }
}
