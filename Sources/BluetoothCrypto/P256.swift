/// A public key: a point on P-256. Core Vol 2, Part H, 7.4.
public struct P256PublicKey: CurvePublicKey {
    public var x: UInt256
    public var y: UInt256

    public init(x: UInt256, y: UInt256) {
        self.x = x
        self.y = y
    }

    /// True for the public debug key, whose private key is published. Core Vol 3, Part H, 2.3.5.6.1.
    public var isDebugKey: Bool { x == Self.debugX }

    /// True for a point of the curve. Core Vol 3, Part H, 2.3.5.6.1.
    public var isOnCurve: Bool { EllipticCurve.p256.multiply(UInt256(high: 0, low: 1), (x, y)) != nil }

    private static let debugX = UInt256(
        high: 0x20b0_03d2_f297_be2c_5e2c_83a7_e9f9_a5b9, low: 0xeff4_9111_acf4_fddb_cc03_0148_0e35_9de6)
}

/// A key pair on P-256.
public struct P256KeyPair: CurveKeyPair {
    public let publicKey: P256PublicKey
    private let privateKey: UInt256
    /// Order of the base point.
    private static let order = UInt256(
        high: 0xFFFF_FFFF_0000_0000_FFFF_FFFF_FFFF_FFFF, low: 0xBCE6_FAAD_A717_9E84_F3B9_CAC2_FC63_2551)

    public init(privateKey: UInt256) throws(CurveError) {
        guard privateKey > UInt256(high: 0, low: 0), privateKey < Self.order, let point = EllipticCurve.p256.multiply(privateKey)
        else { throw .privateKeyOutOfRange }
        self.privateKey = privateKey
        publicKey = P256PublicKey(x: point.x, y: point.y)
    }

    /// The published debug key pair, with which a sniffer can decrypt. Core Vol 3, Part H, 2.3.5.6.1.
    public static func debug() throws(CurveError) -> P256KeyPair {
        try P256KeyPair(
            privateKey: UInt256(high: 0x3f49_f6d4_a3c5_5f38_74c9_b3e3_d210_3f50, low: 0x4aff_607b_eb40_b799_5899_b8a6_cd3c_1abd))
    }

    /// Generates a private key; repeats in the rare case that the number is not less than the order of the curve.
    public static func generate(using random: inout SecretSource) -> P256KeyPair {
        while true {
            let high = UInt128(random.next()) << 64 | UInt128(random.next())
            let low = UInt128(random.next()) << 64 | UInt128(random.next())
            if let pair = try? P256KeyPair(privateKey: UInt256(high: high, low: low)) { return pair }
        }
    }

    /// DHKey: x coordinate of the shared point.
    public func sharedSecret(with peer: P256PublicKey) throws(CurveError) -> UInt256 {
        guard let point = EllipticCurve.p256.multiply(privateKey, (peer.x, peer.y)) else { throw .pointNotOnCurve }
        return point.x
    }
}
