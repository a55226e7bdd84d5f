/// The link layer CRC: x^24 + x^10 + x^9 + x^6 + x^4 + x^3 + x + 1 over header and payload. Core Vol 6, Part B, 3.1.1.
///
/// The register is mirrored (bit 23 in the specification's figure is bit 0 here) so that octets enter in transmission order, least
/// significant bit first.
struct CRC24 {
    private var register: UInt32

    init(initial: UInt32) {
        var mirrored: UInt32 = 0
        for bit in 0..<24 where initial >> UInt32(bit) & 1 == 1 { mirrored |= 1 << UInt32(23 - bit) }
        register = mirrored
    }

    private static let table: [UInt32] = (0..<256).map { octet in
        var value = UInt32(octet)
        for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xDA_6000 : value >> 1 }
        return value
    }

    mutating func add(_ octet: UInt8) {
        register = register >> 8 ^ Self.table[Int((register ^ UInt32(octet)) & 0xFF)]
    }

    mutating func add(_ octets: some Sequence<UInt8>) {
        for octet in octets { add(octet) }
    }

    /// The three CRC octets in transmission order.
    var octets: [UInt8] {
        [UInt8(truncatingIfNeeded: register), UInt8(truncatingIfNeeded: register >> 8), UInt8(truncatingIfNeeded: register >> 16)]
    }
}
