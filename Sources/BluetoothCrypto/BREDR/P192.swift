// swift-crypto does not offer P-192, but the groups of its BoringSSL can be any curve.
internal import CCryptoBoringSSL

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

    public init(privateKey: UInt192) throws(CurveError) {
        guard privateKey > UInt192(high: 0, low: 0), privateKey < P192Curve.order,
            let publicKey = P192Curve.multiply(privateKey, P192Curve.basePoint)
        else { throw .privateKeyOutOfRange }
        self.privateKey = privateKey
        self.publicKey = publicKey
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
        guard let point = P192Curve.multiply(privateKey, peer) else { throw .pointNotOnCurve }
        return point.x
    }
}

/// The curve y^2 = x^3 - 3x + b over a 192-bit prime field.
private enum P192Curve {
    static let basePoint = P192PublicKey(
        x: UInt192(high: 0x188D_A80E_B030_90F6, low: 0x7CBF_20EB_43A1_8800_F4FF_0AFD_82FF_1012),
        y: UInt192(high: 0x0719_2B95_FFC8_DA78, low: 0x6310_11ED_6B24_CDD5_73F9_77A1_1E79_4811))

    private static let prime = UInt192(high: .max, low: 0xFFFF_FFFF_FFFF_FFFE_FFFF_FFFF_FFFF_FFFF)
    private static let a = UInt192(high: .max, low: 0xFFFF_FFFF_FFFF_FFFE_FFFF_FFFF_FFFF_FFFC)
    private static let b = UInt192(high: 0x6421_0519_E59C_80E7, low: 0x0FA7_E9AB_7224_3049_FEB8_DEEC_C146_B9B1)
    /// Order of the base point.
    static let order = UInt192(high: .max, low: 0xFFFF_FFFF_99DE_F836_146B_C9B1_B4D2_2831)

    /// Multiplies a point by a scalar; nil if the point is not on the curve.
    ///
    /// - Parameter scalar: greater than zero and less than the order, so that the product is never the point at infinity.
    static func multiply(_ scalar: UInt192, _ point: P192PublicKey) -> P192PublicKey? {
        guard let numbers = CCryptoBoringSSL_BN_CTX_new() else { return nil }
        CCryptoBoringSSL_BN_CTX_start(numbers)
        defer {
            CCryptoBoringSSL_BN_CTX_end(numbers)
            CCryptoBoringSSL_BN_CTX_free(numbers)
        }
        guard let group = makeGroup(numbers) else { return nil }
        defer { CCryptoBoringSSL_EC_GROUP_free(group) }
        guard let factor = number(scalar, numbers), let operand = makePoint(point, group) else { return nil }
        defer { CCryptoBoringSSL_EC_POINT_free(operand) }
        guard CCryptoBoringSSL_EC_POINT_mul(group, operand, nil, operand, factor, numbers) == 1 else { return nil }
        return read(operand, group)
    }

    private static func makeGroup(_ numbers: OpaquePointer) -> OpaquePointer? {
        guard let p = number(prime, numbers), let a = number(a, numbers), let b = number(b, numbers), let order = number(order, numbers),
            let cofactor = number(UInt192(high: 0, low: 1), numbers),
            let group = CCryptoBoringSSL_EC_GROUP_new_curve_GFp(p, a, b, numbers)
        else { return nil }
        if let generator = makePoint(basePoint, group) {
            defer { CCryptoBoringSSL_EC_POINT_free(generator) }
            if CCryptoBoringSSL_EC_GROUP_set_generator(group, generator, order, cofactor) == 1 { return group }
        }
        CCryptoBoringSSL_EC_GROUP_free(group)
        return nil
    }

    /// A number allocated in the context, released with it.
    private static func number(_ value: UInt192, _ numbers: OpaquePointer) -> UnsafeMutablePointer<BIGNUM>? {
        let octets = value.octets
        return CCryptoBoringSSL_BN_bin2bn(octets, octets.count, CCryptoBoringSSL_BN_CTX_get(numbers))
    }

    /// Returns nil if the point is not on the curve, or a coordinate is not less than the prime.
    private static func makePoint(_ point: P192PublicKey, _ group: OpaquePointer) -> OpaquePointer? {
        guard let result = CCryptoBoringSSL_EC_POINT_new(group) else { return nil }
        let encoded = [UInt8(POINT_CONVERSION_UNCOMPRESSED.rawValue)] + point.x.octets + point.y.octets
        if CCryptoBoringSSL_EC_POINT_oct2point(group, result, encoded, encoded.count, nil) == 1 { return result }
        CCryptoBoringSSL_EC_POINT_free(result)
        return nil
    }

    private static func read(_ point: OpaquePointer, _ group: OpaquePointer) -> P192PublicKey? {
        var encoded = [UInt8](repeating: 0, count: 49)
        let length = CCryptoBoringSSL_EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &encoded, encoded.count, nil)
        guard length == encoded.count, let x = UInt192(octets: Array(encoded[1..<25])), let y = UInt192(octets: Array(encoded[25...]))
        else { return nil }
        return P192PublicKey(x: x, y: y)
    }
}
