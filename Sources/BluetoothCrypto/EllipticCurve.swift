internal import BBCLibCrypto

/// Scalar multiplication on the two curves. Core Vol 2, Part H, 7.6.
enum EllipticCurve {
    case p192, p256

    /// Multiplies a point, or without one the base point, by a scalar; nil if the point is not on the curve.
    ///
    /// - Parameter scalar: greater than zero and less than the order, so that the product is never the point at infinity.
    func multiply<Number: WideNumber>(_ scalar: Number, _ point: (x: Number, y: Number)? = nil) -> (x: Number, y: Number)? {
        guard let numbers = BN_CTX_new() else { return nil }
        BN_CTX_start(numbers)
        defer {
            BN_CTX_end(numbers)
            BN_CTX_free(numbers)
        }
        guard let group = makeGroup(numbers) else { return nil }
        defer { EC_GROUP_free(group) }
        guard let factor = Self.number(scalar.octets, numbers), let product = EC_POINT_new(group) else { return nil }
        defer { EC_POINT_clear_free(product) }
        if let point {
            guard Self.read(point.x.octets + point.y.octets, into: product, group, numbers),
                EC_POINT_mul(group, product, nil, product, factor, numbers) == 1
            else { return nil }
        } else {
            guard EC_POINT_mul(group, product, factor, nil, nil, numbers) == 1 else { return nil }
        }
        return Self.coordinates(of: product, group, numbers, length: scalar.octets.count)
    }

    private func makeGroup(_ numbers: OpaquePointer) -> OpaquePointer? {
        switch self {
        case .p192: Self.makeP192(numbers)
        case .p256: EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
        }
    }

    /// The curve y^2 = x^3 - 3x + b over a 192-bit prime field, which not every libcrypto has by name.
    private static func makeP192(_ numbers: OpaquePointer) -> OpaquePointer? {
        let prime = UInt192(high: .max, low: 0xFFFF_FFFF_FFFF_FFFE_FFFF_FFFF_FFFF_FFFF)
        let a = UInt192(high: .max, low: 0xFFFF_FFFF_FFFF_FFFE_FFFF_FFFF_FFFF_FFFC)
        let b = UInt192(high: 0x6421_0519_E59C_80E7, low: 0x0FA7_E9AB_7224_3049_FEB8_DEEC_C146_B9B1)
        guard let p = number(prime.octets, numbers), let a = number(a.octets, numbers), let b = number(b.octets, numbers),
            let order = number(P192KeyPair.order.octets, numbers), let group = EC_GROUP_new_curve_GFp(p, a, b, numbers)
        else { return nil }
        let baseX = UInt192(high: 0x188D_A80E_B030_90F6, low: 0x7CBF_20EB_43A1_8800_F4FF_0AFD_82FF_1012)
        let baseY = UInt192(high: 0x0719_2B95_FFC8_DA78, low: 0x6310_11ED_6B24_CDD5_73F9_77A1_1E79_4811)
        if let generator = EC_POINT_new(group) {
            defer { EC_POINT_free(generator) }
            if read(baseX.octets + baseY.octets, into: generator, group, numbers),
                EC_GROUP_set_generator(group, generator, order, BN_value_one()) == 1
            {
                return group
            }
        }
        EC_GROUP_free(group)
        return nil
    }

    /// A number allocated in the context, released with it.
    private static func number(_ octets: [UInt8], _ numbers: OpaquePointer) -> OpaquePointer? {
        BN_bin2bn(octets, Int32(octets.count), BN_CTX_get(numbers))
    }

    private static let uncompressed = UInt8(POINT_CONVERSION_UNCOMPRESSED.rawValue)

    /// Returns false if the point is not on the curve, or a coordinate is not less than the prime.
    private static func read(_ octets: [UInt8], into point: OpaquePointer, _ group: OpaquePointer, _ numbers: OpaquePointer) -> Bool {
        EC_POINT_oct2point(group, point, [uncompressed] + octets, octets.count + 1, numbers) == 1
    }

    private static func coordinates<Number: WideNumber>(
        of point: OpaquePointer, _ group: OpaquePointer, _ numbers: OpaquePointer, length: Int
    ) -> (x: Number, y: Number)? {
        var encoded = [UInt8](repeating: 0, count: 1 + 2 * length)
        let written = EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &encoded, encoded.count, numbers)
        guard written == encoded.count, let x = Number(octets: Array(encoded[1...length])), let y = Number(octets: encoded.suffix(length))
        else { return nil }
        return (x, y)
    }
}
