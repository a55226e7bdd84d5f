import BBPackets

/// Transport of a connection.
public enum PeerTransport: String, Sendable, Hashable, CaseIterable {
    case le = "LE"
    case brEDR = "BR/EDR"

    /// Transports that may reach a peer, the most likely first: one with a key, otherwise LE, where a missing device costs no page.
    static func reaching(_ peer: PeerIdentity, _ bond: Bond?, with controller: ControllerInformation) -> [PeerTransport] {
        // Random addresses exist on LE only. Core Vol 6, Part B, 1.3.
        guard peer.address.kind == .public, !controller.isLEOnly else { return [.le] }
        return bond?.linkKey != nil && bond?.peerLongTermKey == nil ? [.brEDR, .le] : [.le, .brEDR]
    }
}

/// A connection on either transport.
public enum PeerLink {
    case le(Connection)
    case classic(ClassicConnection)

    /// The same on both transports.
    public var peer: PeerIdentity { acl.peer }
    public var isConnected: Bool { acl.isConnected }
    public var transport: PeerTransport { if case .le = self { .le } else { .brEDR } }

    /// The stored keys of the peer; nil without a bond.
    public var bond: Bond? { acl.bond }

    /// Disconnects and waits until the connection has ended.
    @discardableResult
    public func disconnect() async throws -> ErrorCode { try await acl.disconnect() }

    /// The connection, as far as it is the same on both transports.
    public var acl: ACLLink {
        switch self {
        case .le(let connection): connection
        case .classic(let connection): connection
        }
    }

    var le: Connection? { if case .le(let connection) = self { connection } else { nil } }
    var classic: ClassicConnection? { if case .classic(let connection) = self { connection } else { nil } }
}

/// Connections to a peer by its identity, independent of the transport.
extension Host {
    /// Connects to a peer on a transport that reaches it, unless it is already connected.
    ///
    /// - Parameters:
    ///   - transport: nil to choose automatically: the transport with a key, then the other one.
    ///   - settings: settings for LE.
    /// - Throws: the error of the last transport tried.
    public func connect(to peer: PeerIdentity, over transport: PeerTransport? = nil, _ settings: ConnectSettings = ConnectSettings())
        async throws -> PeerLink
    {
        try setup.check()
        if let link = links(to: peer).first(where: { transport == nil || $0.transport == transport }) { return link }
        let transports = transport.map { [$0] } ?? PeerTransport.reaching(peer, keys[peer], with: controller)
        var failure: any Error = HostError.peer(.timedOut(.connection))
        for transport in transports {
            do {
                switch transport {
                case .le: return .le(try await connect(to: peer.address, settings))
                case .brEDR: return .classic(try await connectClassic(to: peer.address.bdADDR))
                }
            } catch let error as HostError where Self.isOutOfReach(error) {
                failure = error
            }
        }
        throw failure
    }

    private static func isOutOfReach(_ error: HostError) -> Bool {
        switch error {
        case .peer(.timedOut(.connection)), .peer(.rejected(_, .pageTimeout)), .peer(.rejected(_, .connectionFailedToBeEstablished)): true
        default: false
        }
    }
}
