/// Reason why key agreement on an elliptic curve failed.
public enum CurveError: Error, Sendable, Equatable {
    /// Zero, or not less than the order of the curve.
    case privateKeyOutOfRange
    /// The point is not on the curve: an invalid-curve attack (CVE-2018-5383) or a faulty peer.
    case pointNotOnCurve
    /// The peer sent the local public key, or one with the same x coordinate.
    case ownKey
    /// The peer uses the published debug key pair.
    case debugKey
}

/// A public key on P-192, for Secure Simple Pairing without Secure Connections, or on P-256. Core Vol 2, Part H, 7.6.
public protocol CurvePublicKey: Sendable, Hashable {
    associatedtype Coordinate: WideNumber
    var x: Coordinate { get }
    var y: Coordinate { get }
    /// True for the public debug key of the curve, whose private key is published.
    var isDebugKey: Bool { get }
}

public protocol CurveKeyPair: Sendable {
    associatedtype PublicKey: CurvePublicKey
    var publicKey: PublicKey { get }
    /// DHKey: x coordinate of the shared point.
    func sharedSecret(with peer: PublicKey) throws(CurveError) -> PublicKey.Coordinate
}

extension CurveKeyPair {
    /// DHKey for pairing. Rejects points not on the curve, the local public key and the debug key. Core Vol 2, Part H, 7.6; Vol 3, Part H,
    /// 2.3.5.6.1.
    ///
    /// - Parameter acceptsDebugKey: accept the debug key, even if both devices use it.
    public func pairingSecret(with peer: PublicKey, acceptsDebugKey: Bool = false) throws(CurveError) -> PublicKey.Coordinate {
        let secret = try sharedSecret(with: peer)
        if peer.isDebugKey {
            guard acceptsDebugKey else { throw .debugKey }
        } else if peer.x == publicKey.x {
            throw .ownKey
        }
        return secret
    }
}
