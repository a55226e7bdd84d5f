import BBPackets

/// Known services of peers, from either transport.
private struct KnownServices {
    private static let mostPeers = 256
    private static let mostServices = 256
    private var services: [PeerIdentity: Set<BluetoothUUID>] = [:]

    subscript(peer: PeerIdentity) -> Set<BluetoothUUID> { services[peer] ?? [] }

    mutating func learn(_ uuids: some Sequence<BluetoothUUID>, of peer: PeerIdentity) {
        guard services[peer] != nil || services.count < Self.mostPeers else { return }
        services[peer, default: []].formUnion(uuids.prefix(Self.mostServices - min(Self.mostServices, self[peer].count)))
    }
}

/// The peers of a host on both transports: their identities, services and links. Core Vol 3, Part C, 14.
final class PeerDirectory {
    private var registrations: [ConnectionEvents] = []
    private var knownServices = KnownServices()
    private let path: DataPath
    private var keys: KeyStore { path.context.keys }

    init(_ path: DataPath) { self.path = path }

    func register(_ services: Set<BluetoothUUID>, _ peers: Set<PeerIdentity>, _ handler: @escaping (PeerEvent) -> Void)
        -> ConnectionEvents
    {
        let registration = ConnectionEvents(services, peers, of: self, handler)
        registrations.append(registration)
        for link in path.links { consider(link, [registration]) }
        return registration
    }

    func remove(_ registration: ConnectionEvents) { registrations.removeAll { $0 === registration } }

    func services(of peer: PeerIdentity) -> Set<BluetoothUUID> {
        knownServices[peer].union(keys.database(of: peer)?.services.map(\.service.uuid) ?? [])
    }

    func learned(_ services: some Sequence<BluetoothUUID>, of peer: PeerIdentity) {
        let peer = identity(of: peer)
        knownServices.learn(services, of: peer)
        for link in links(to: peer) { consider(link, registrations) }
    }

    func links(to peer: PeerIdentity) -> [PeerLink] {
        path.links.filter {
            switch $0 {
            case .le(let link): link.peer == peer || identity(of: link.peer) == peer
            case .classic(let link): link.peer == peer
            }
        }
    }

    /// Identity of a peer that was found under another address.
    private func identity(of peer: PeerIdentity) -> PeerIdentity { keys[peer].map { PeerIdentity($0.identity) } ?? peer }

    /// The sender of a report, if it has a bond, or if the controller has resolved its address.
    func identity(of report: AdvertisingReport) -> PeerIdentity? {
        guard let address = report.address, !path.context.quirks.resolvesNoAddress else { return nil }
        if report.addressType == .publicIdentity || report.addressType == .randomIdentity { return PeerIdentity(address, isResolved: true) }
        return keys.identity(of: address)
    }

    private func consider(_ link: PeerLink, _ registrations: [ConnectionEvents]) {
        let peer = identity(of: link.peer)
        for registration in registrations { registration.consider(link, as: peer, services(of: peer)) }
    }

    // MARK: Events

    func opened(_ connection: Connection) {
        connection.events.add { [unowned self, unowned connection] event in
            switch event {
            case .disconnected: ended(.le(connection))
            // Services found under another address are now known for the identity.
            case .paired: learned(knownServices[connection.peer], of: connection.peer)
            default: break
            }
        }
        consider(.le(connection), registrations)
    }

    func opened(_ connection: ClassicConnection) {
        connection.events.add { [unowned self, unowned connection] event in
            if case .disconnected = event { ended(.classic(connection)) }
        }
        consider(.classic(connection), registrations)
    }

    private func ended(_ link: PeerLink) {
        for registration in registrations { registration.ended(link, of: identity(of: link.peer)) }
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
        self.peers.register(services, peers, handler)
    }

    /// The known services of a peer.
    public func services(of peer: PeerIdentity) -> Set<BluetoothUUID> { peers.services(of: peer) }

    /// Adds services found by discovery on one of the transports.
    public func learned(_ services: some Sequence<BluetoothUUID>, of peer: PeerIdentity) { peers.learned(services, of: peer) }

    /// Open links to a peer.
    public func links(to peer: PeerIdentity) -> [PeerLink] { peers.links(to: peer) }
}
