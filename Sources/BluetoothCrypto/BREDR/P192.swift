/// A public key: a point on P-192. Core Vol 2, Part H, 7.6.
public struct P192PublicKey: CurvePublicKey {
    public var x: UInt192
    public var y: UInt192

    public init(x: UInt192, y: UInt192) {
        self.x = x
        self.y = y
    }

    /// True for the public debug key, whose private key is published. Core Vol 4, Part E, 7.6.4.
    public var isDebugKey: Bool { x == Self.debugX }

    private static let debugX = UInt192(high: 0x1520_7009_9844_21A6, low: 0x586F_9FC3_FE7E_4329_D280_9EA5_1125_F8ED)
}

/// A key pair on P-192.
public struct P192KeyPair: CurveKeyPair {
    public let publicKey: P192PublicKey
    private let privateKey: UInt192
    /// Order of the base point.
    static let order = UInt192(high: .max, low: 0xFFFF_FFFF_99DE_F836_146B_C9B1_B4D2_2831)

    public init(privateKey: UInt192) throws(CurveError) {
        guard privateKey > UInt192(high: 0, low: 0), privateKey < Self.order, let point = EllipticCurve.p192.multiply(privateKey)
        else { throw .privateKeyOutOfRange }
        self.privateKey = privateKey
        publicKey = P192PublicKey(x: point.x, y: point.y)
    }

    /// The published debug key pair, with which a sniffer can decrypt. Core Vol 4, Part E, 7.6.4.
    public static func debug() throws(CurveError) -> P192KeyPair {
        try P192KeyPair(privateKey: UInt192(high: 0x0791_5F86_918D_DC27, low: 0x005D_F1D6_CF0C_142B_625E_D2EF_F4A5_18FF))
    }

    /// Generates a private key of at most half the order. Core Vol 2, Part H, 7.1.
    public static func generate(using random: inout SecretSource) -> P192KeyPair {
        while true {
            let number = UInt192(high: random.next() >> 1, low: UInt128(random.next()) << 64 | UInt128(random.next()))
            if let pair = try? P192KeyPair(privateKey: number) { return pair }
        }
    }

    public func sharedSecret(with peer: P192PublicKey) throws(CurveError) -> UInt192 {
        guard let point = EllipticCurve.p192.multiply(privateKey, (peer.x, peer.y)) else { throw .pointNotOnCurve }
        return point.x
    }
}
