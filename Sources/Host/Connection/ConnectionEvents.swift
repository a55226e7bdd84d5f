import Packets

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
    private unowned let host: Host
    /// Links already reported.
    private var told: [ObjectIdentifier: PeerLink] = [:]

    init(_ services: Set<BluetoothUUID>, _ peers: Set<PeerIdentity>, host: Host, _ handler: @escaping (PeerEvent) -> Void) {
        (self.services, self.peers, self.host, self.handler) = (services, peers, host, handler)
    }

    /// Ends the registration.
    public func stop() { host.registrations.removeAll { $0 === self } }

    private func concerns(_ peer: PeerIdentity, _ known: Set<BluetoothUUID>) -> Bool {
        services.isEmpty && peers.isEmpty || peers.contains(peer) || !services.isDisjoint(with: known)
    }

    /// Called when a link is established, or more is known about its peer.
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

/// Known services of peers, from either transport.
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

/// Registration for connecting peers.
extension Host {
    /// Reports peers with one of the services, and named peers, as they connect; connected ones are reported at once.
    ///
    /// Services of a peer are known from its attribute database, its service records, and the data stored with its bond.
    @discardableResult
    public func connectionEvents(
        services: Set<BluetoothUUID> = [], peers: Set<PeerIdentity> = [], _ handler: @escaping (PeerEvent) -> Void
    ) -> ConnectionEvents {
        let registration = ConnectionEvents(services, peers, host: self, handler)
        registrations.append(registration)
        for link in connections.map(PeerLink.le) + classicConnections.map(PeerLink.classic) { consider(link, [registration]) }
        return registration
    }

    /// The known services of a peer.
    public func services(of peer: PeerIdentity) -> Set<BluetoothUUID> {
        knownServices[peer].union(keys.database(of: peer)?.services.map(\.service.uuid) ?? [])
    }

    /// Adds services found by discovery on one of the transports.
    public func learned(_ services: some Sequence<BluetoothUUID>, of peer: PeerIdentity) {
        let peer = identity(of: peer)
        knownServices.learn(services, of: peer)
        for link in links(to: peer) { consider(link, registrations) }
    }

    /// Identity of a peer that was found under another address.
    private func identity(of peer: PeerIdentity) -> PeerIdentity { keys[peer].map { PeerIdentity($0.identity) } ?? peer }

    private func consider(_ link: PeerLink, _ registrations: [ConnectionEvents]) {
        let peer = identity(of: link.peer)
        for registration in registrations { registration.consider(link, as: peer, services(of: peer)) }
    }

    // MARK: Events

    func linkOpened(_ connection: Connection) {
        connection.events.add { [unowned self, unowned connection] event in
            switch event {
            case .disconnected: linkEnded(.le(connection))
            // Services found under another address are now known for the identity.
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
