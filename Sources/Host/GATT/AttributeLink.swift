import BBPackets
import BBTiming

/// An LE or BR/EDR connection over which attributes are accessed.
protocol AttributeLink: ACLLink {
    var isCentral: Bool { get }
    /// The bond whose key encrypts the link; nil on an unencrypted link, where only the address identifies the peer.
    var provenBond: Bond? { get }
    /// The client's access rights, for attribute handlers.
    var access: AttributeAccess { get }
    /// The bearer for notifications and indications; nil while the peer has none.
    var attributeBearer: ATTBearer? { get }
    /// The Enhanced ATT bearers. Core Vol 3, Part F, 3.2.11.
    var enhancedAttributeBearers: [ATTBearer] { get }
}

extension AttributeLink {
    /// The bond that stored data belongs to.
    private var keeper: PeerIdentity? {
        (context.quirks.trustsAddresses ? bond : provenBond).map { PeerIdentity($0.identity) }
    }

    /// The client's configuration from earlier links.
    var kept: ClientRecord? { keeper.flatMap { context.keys.client(of: $0) } }

    /// Stores the client's configuration with its bond, if there is one.
    func keep(_ record: ClientRecord) {
        if let keeper { context.keys.keep(record, of: keeper) }
    }

    /// The peer's attributes as discovered by this host, stored with the bond. Core Vol 3, Part G, 2.5.2.
    var remoteDatabase: RemoteDatabase? {
        get { keeper.flatMap { context.keys.database(of: $0) } }
        set { if let keeper { context.keys.keep(newValue, of: keeper) } }
    }
}

/// Requests of both sides for ATT bearers may collide, and both be refused: the central repeats its request at once, the peripheral later. Core
/// Vol 3, Part G, 5.4.
extension AttributeLink {
    /// Requests until one succeeds.
    static var bearerRequests: Int { 4 }

    /// The pause before the next request, for a peripheral at least this long.
    func pauseAfterCollision(_ least: Microseconds = .zero) async throws {
        guard !isCentral, !context.quirks.bearers.retriesAtOnce else { return }
        try await context.loop.sleep(for: max(.milliseconds(100), least))
    }
}

extension Connection: AttributeLink {
    var access: AttributeAccess { AttributeAccess(connection: self, security: security, keySize: encryptionKeySize) }
    var attributeBearer: ATTBearer? { bearer }
    var enhancedAttributeBearers: [ATTBearer] { enhanced.bearers }
    var provenBond: Bond? { securityChannel.machine.isBondProven ? bond : nil }
}
