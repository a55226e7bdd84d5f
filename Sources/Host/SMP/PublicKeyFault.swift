import BBBluetoothCrypto

/// An invalid public key that a device sends as an injected fault. Its own values are computed with the coordinates that it sends. Core
/// Vol 3, Part H, 2.3.5.6.1.
public enum PublicKeyFault: String, Sendable, Hashable, CaseIterable {
    /// The Y coordinate is zero.
    case zeroY = "zero-y"
    /// One bit of a coordinate is another.
    case flippedX = "flipped-x"
    case flippedY = "flipped-y"
    /// Both coordinates are zero.
    case zeroPoint = "zero"
    /// Both coordinates are beyond the prime of the field.
    case beyondField = "beyond-field"
    /// The X coordinate of the peer with another Y coordinate, or the peer's key. Only of a responder, which knows it.
    case peersX = "peers-x"
    case peersKey = "peers-key"

    func key(_ own: P256PublicKey, peer: P256PublicKey?) -> P256PublicKey {
        let (zero, ones) = (UInt256(high: 0, low: 0), UInt256(high: .max, low: .max))
        let peer = peer ?? own
        return switch self {
        case .zeroY: P256PublicKey(x: own.x, y: zero)
        case .flippedX: P256PublicKey(x: Self.flip(own.x), y: own.y)
        case .flippedY: P256PublicKey(x: own.x, y: Self.flip(own.y))
        case .zeroPoint: P256PublicKey(x: zero, y: zero)
        case .beyondField: P256PublicKey(x: ones, y: ones)
        case .peersX: P256PublicKey(x: peer.x, y: Self.flip(own.y))
        case .peersKey: peer
        }
    }

    private static func flip(_ coordinate: UInt256) -> UInt256 { UInt256(high: coordinate.high, low: coordinate.low ^ 1) }
}
