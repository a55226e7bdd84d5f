import Packets

/// What happens to a peer that somebody has registered for.
public enum PeerEvent {
    case connected(PeerLink)
    case disconnected(PeerIdentity, PeerTransport)
}

/// Tells of peers as they connect, over either transport and whoever connects; ends with `stop`.
public final class ConnectionEvents {
    /// Peers with one of these services, as far as that is known.
    public let services: Set<BluetoothUUID>
    /// These peers in any case. Who asks for neither hears of all.
    public let peers: Set<PeerIdentity>
    private let handler: (PeerEvent) -> Void
    private unowned let host: Host
    /// Links that were told.
    private var told: [ObjectIdentifier: PeerLink] = [:]

    init(_ services: Set<BluetoothUUID>, _ peers: Set<PeerIdentity>, host: Host, _ handler: @escaping (PeerEvent) -> Void) {
        (self.services, self.peers, self.host, self.handler) = (services, peers, host, handler)
    }

    /// Ends the registration.
    public func stop() { host.registrations.removeAll { $0 === self } }

    private func concerns(_ peer: PeerIdentity, _ known: Set<BluetoothUUID>) -> Bool {
        services.isEmpty && peers.isEmpty || peers.contains(peer) || !services.isDisjoint(with: known)
    }

    /// A link is up, or more is known of its peer.
    func consider(_ link: PeerLink, as peer: PeerIdentity, _ known: Set<BluetoothUUID>) {
        let id = ObjectIdentifier(link.secured)
        guard told[id] == nil, concerns(peer, known) else { return }
        told[id] = link
        handler(.connected(link))
    }

    func ended(_ link: PeerLink, of peer: PeerIdentity) {
        guard told.removeValue(forKey: ObjectIdentifier(link.secured)) != nil else { return }
        handler(.disconnected(peer, link.transport))
    }
}

/// The services that peers are known to have, whichever transport has told of them.
struct KnownServices {
    private static let mostPeers = 256
    private static let mostServices = 256
    private var services: [PeerIdentity: Set<BluetoothUUID>] = [:]

    subscript(peer: PeerIdentity) -> Set<BluetoothUUID> { services[peer] ?? [] }

    mutating func learn(_ uuids: some Sequence<BluetoothUUID>, of peer: PeerIdentity) {
        guard services[peer] != nil || services.count < Self.mostPeers else { return }
        services[peer, default: []].formUnion(uuids.prefix(Self.mostServices - min(Self.mostServices, self[peer].count)))
    }
}

/// Registering for peers as they connect.
extension Host {
    /// Tells of peers with one of the services, and of those that are named, as they connect; of those that are connected already at once.
    ///
    /// Which services a peer has is known from its attribute database, from its service records, and from what was kept with its bond.
    @discardableResult
    public func connectionEvents(
        services: Set<BluetoothUUID> = [], peers: Set<PeerIdentity> = [], _ handler: @escaping (PeerEvent) -> Void
    ) -> ConnectionEvents {
        let registration = ConnectionEvents(services, peers, host: self, handler)
        registrations.append(registration)
        for link in connections.map(PeerLink.le) + classicConnections.map(PeerLink.classic) { consider(link, [registration]) }
        return registration
    }

    /// The services that a peer is known to have.
    public func services(of peer: PeerIdentity) -> Set<BluetoothUUID> {
        knownServices[peer].union(keys.database(of: peer)?.services.map(\.service.uuid) ?? [])
    }

    /// Service discovery on one of the transports has found services of a peer.
    public func learned(_ services: some Sequence<BluetoothUUID>, of peer: PeerIdentity) {
        let peer = identity(of: peer)
        knownServices.learn(services, of: peer)
        for link in links(to: peer) { consider(link, registrations) }
    }

    /// A peer that was met under another address than its identity.
    private func identity(of peer: PeerIdentity) -> PeerIdentity { keys[peer].map { PeerIdentity($0.identity) } ?? peer }

    private func consider(_ link: PeerLink, _ registrations: [ConnectionEvents]) {
        let peer = identity(of: link.peer)
        for registration in registrations { registration.consider(link, as: peer, services(of: peer)) }
    }

    // MARK: From below

    func linkOpened(_ connection: Connection) {
        connection.events.add { [unowned self, unowned connection] event in
            switch event {
            case .disconnected: linkEnded(.le(connection))
            // What was found under another address is known of the identity now.
            case .paired: learned(knownServices[connection.peer], of: connection.peer)
            default: break
            }
        }
        consider(.le(connection), registrations)
    }

    func linkOpened(_ connection: ClassicConnection) {
        connection.events.add { [unowned self, unowned connection] event in
            if case .disconnected = event { linkEnded(.classic(connection)) }
        }
        consider(.classic(connection), registrations)
    }

    private func linkEnded(_ link: PeerLink) {
        for registration in registrations { registration.ended(link, of: identity(of: link.peer)) }
    }
}
