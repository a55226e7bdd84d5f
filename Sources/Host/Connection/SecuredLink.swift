/// A link on either transport that can pair and be encrypted.
public protocol SecuredLink: AnyObject {
    /// Identity of the peer, the same on both transports if the devices have exchanged identities.
    var peer: PeerIdentity { get }
    var host: Host { get }
    var isConnected: Bool { get }
}

extension SecuredLink {
    /// The bond with the peer; nil if the devices are not bonded.
    public var bond: Bond? { host.keys[peer] }
}

extension Connection: SecuredLink {}
extension ClassicConnection: SecuredLink {}
