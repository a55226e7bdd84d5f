import Packets

/// A connection that attributes are accessed over, LE or BR/EDR.
protocol AttributeLink: SecuredLink {
    var context: HostContext { get }
    /// The keys that this device and the peer share; nil if they have not bonded.
    var bond: Bond? { get }
    /// Who asks, for the handlers of attributes.
    var access: AttributeAccess { get }
    /// Where the server sends what nobody has asked for; nil while the peer has no bearer.
    var attributeBearer: ATTBearer? { get }
}

extension AttributeLink {
    /// Keeps what the client has configured with its bond, if it has one.
    func keep(_ record: ClientRecord) {
        if let bond { context.keys.keep(record, of: PeerIdentity(bond.identity)) }
    }
}

extension Connection: AttributeLink {
    var access: AttributeAccess { AttributeAccess(connection: self, security: security, keySize: encryptionKeySize) }
    var attributeBearer: ATTBearer? { bearer }
}
