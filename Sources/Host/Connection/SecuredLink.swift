/// A link on either transport that can pair and be encrypted.
public protocol SecuredLink: AnyObject {
    /// Identity of the peer, the same on both transports if the devices have exchanged identities.
    var peer: PeerIdentity { get }
    var host: Host { get }
    var isConnected: Bool { get }
}

extension Connection: SecuredLink {}
extension ClassicConnection: SecuredLink {}
