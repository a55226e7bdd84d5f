/// Why key agreement on an elliptic curve failed.
public enum CurveError: Error, Sendable, Equatable {
    /// Zero, or not below the curve's order.
    case privateKeyOutOfRange
    /// The point is not on the curve: an invalid-curve attack (CVE-2018-5383) or a broken peer.
    case pointNotOnCurve
    /// The peer sent this side's own key back, or one with the same x coordinate.
    case ownKey
    /// The peer uses the key pair that everybody knows.
    case debugKey
}

/// A public key on one of the two curves: P-192, for Secure Simple Pairing without Secure Connections, and P-256. Core Vol 2, Part H, 7.6.
public protocol CurvePublicKey: Sendable, Hashable {
    associatedtype Coordinate: WideNumber
    var x: Coordinate { get }
    var y: Coordinate { get }
    /// Whether this is the public debug key of the curve, whose private key everybody knows.
    var isDebugKey: Bool { get }
}

public protocol CurveKeyPair: Sendable {
    associatedtype PublicKey: CurvePublicKey
    var publicKey: PublicKey { get }
    /// The x coordinate of the shared point: DHKey.
    func sharedSecret(with peer: PublicKey) throws(CurveError) -> PublicKey.Coordinate
}

extension CurveKeyPair {
    /// DHKey for a pairing: besides points off the curve, this side's own key and the debug key are refused. Core Vol 2, Part H, 7.6; Vol 3, Part H, 2.3.5.6.1.
    ///
    /// - Parameter acceptsDebugKey: with it the debug key passes, also between two sides that both use it.
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
