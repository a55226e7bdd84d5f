import Packets

/// A connection that attributes are accessed over, LE or BR/EDR.
protocol AttributeLink: SecuredLink {
    var context: HostContext { get }
    /// The keys that this device and the peer share; nil if they have not bonded.
    var bond: Bond? { get }
    /// The bond whose key encrypts the link; nil on a link in clear, where the peer has its address alone to show.
    var provenBond: Bond? { get }
    /// Who asks, for the handlers of attributes.
    var access: AttributeAccess { get }
    /// Where the server sends what nobody has asked for; nil while the peer has no bearer.
    var attributeBearer: ATTBearer? { get }
}

extension AttributeLink {
    /// The bond that what is kept belongs to.
    private var keeper: PeerIdentity? {
        (context.quirks.trustsAddresses ? bond : provenBond).map { PeerIdentity($0.identity) }
    }

    /// The client's configuration from earlier links.
    var kept: ClientRecord? { keeper.flatMap { context.keys.client(of: $0) } }

    /// Keeps what the client has configured with its bond, if it has one.
    func keep(_ record: ClientRecord) {
        if let keeper { context.keys.keep(record, of: keeper) }
    }

    /// The peer's attributes as this host found them, kept with the bond. Core Vol 3, Part G, 2.5.2.
    var remoteDatabase: RemoteDatabase? {
        get { keeper.flatMap { context.keys.database(of: $0) } }
        set { if let keeper { context.keys.keep(newValue, of: keeper) } }
    }
}

extension Connection: AttributeLink {
    var access: AttributeAccess { AttributeAccess(connection: self, security: security, keySize: encryptionKeySize) }
    var attributeBearer: ATTBearer? { bearer }
    var provenBond: Bond? { securityChannel.machine.isBondProven ? bond : nil }
}
