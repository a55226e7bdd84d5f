import BluetoothCrypto
import Packets

/// The bonds of a host, by the peers' identities, and the host's own identity key. Hosts may share a store.
public final class KeyStore {
    private var bonds: [PeerIdentity: Bond] = [:]
    /// The host's own IRK, 16 octets, least significant first; nil until pairing needs one. Core Vol 3, Part H, 2.4.2.1.
    public var identityResolvingKey: [UInt8]?

    public init() {}

    /// The bond of a peer, whether it is named by its identity address or by a private address that its IRK resolves.
    public subscript(peer: PeerIdentity) -> Bond? {
        get { bonds[peer] ?? resolve(peer.address).flatMap { bonds[$0] } }
        set { bonds[peer] = newValue }
    }

    /// All bonds, in the order of their identity addresses.
    public var all: [Bond] {
        bonds.values.sorted { ($0.identity.value, $0.identity.kind.rawValue) < ($1.identity.value, $1.identity.kind.rawValue) }
    }

    /// Keeps a bond under its identity in place of the one before.
    public func add(_ bond: Bond) { bonds[PeerIdentity(bond.identity)] = bond }

    /// Forgets a peer; false if it was not known.
    @discardableResult
    public func remove(_ peer: PeerIdentity) -> Bool { bonds.removeValue(forKey: peer) != nil }

    /// Whose resolvable private address this is. Core Vol 6, Part B, 1.3.2.3.
    public func resolve(_ address: DeviceAddress) -> PeerIdentity? {
        guard address.kind == .random, !bonds.isEmpty else { return nil }
        return all.first { $0.identityResolvingKey.map { address.resolves(with: UInt128(littleEndianOctets: $0)) } ?? false }
            .map { PeerIdentity($0.identity, isResolved: true) }
    }
}
