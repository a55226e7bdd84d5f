/// A link of either transport that pairs and is encrypted.
public protocol SecuredLink: AnyObject {
    /// Who is at the other end: the same on both transports, where the two sides have told their identities.
    var peer: PeerIdentity { get }
    var host: Host { get }
    var isConnected: Bool { get }
}

extension Connection: SecuredLink {}
extension ClassicConnection: SecuredLink {}
