import BBPackets

/// Events of a peer for registered listeners.
public enum PeerEvent {
    case connected(PeerLink)
    case disconnected(PeerIdentity, PeerTransport)
}

/// Reports peers as they connect on either transport, regardless of the initiator. Call `stop()` to unregister.
public final class ConnectionEvents {
    /// Reports peers with one of these services, as far as known.
    public let services: Set<BluetoothUUID>
    /// Reports these peers in any case. If both sets are empty, all peers are reported.
    public let peers: Set<PeerIdentity>
    private let handler: (PeerEvent) -> Void
    private unowned let owner: PeerDirectory
    /// Links already reported.
    private var told: [ObjectIdentifier: PeerLink] = [:]

    init(_ services: Set<BluetoothUUID>, _ peers: Set<PeerIdentity>, of owner: PeerDirectory, _ handler: @escaping (PeerEvent) -> Void) {
        (self.services, self.peers, self.owner, self.handler) = (services, peers, owner, handler)
    }

    /// Ends the registration.
    public func stop() { owner.remove(self) }

    private func concerns(_ peer: PeerIdentity, _ known: Set<BluetoothUUID>) -> Bool {
        services.isEmpty && peers.isEmpty || peers.contains(peer) || !services.isDisjoint(with: known)
    }

    /// Called when a link is established, or more is known about its peer.
    func consider(_ link: PeerLink, as peer: PeerIdentity, _ known: Set<BluetoothUUID>) {
        let id = ObjectIdentifier(link.acl)
        guard told[id] == nil, concerns(peer, known) else { return }
        told[id] = link
        handler(.connected(link))
    }

    func ended(_ link: PeerLink, of peer: PeerIdentity) {
        guard told.removeValue(forKey: ObjectIdentifier(link.acl)) != nil else { return }
        handler(.disconnected(peer, link.transport))
    }
}
