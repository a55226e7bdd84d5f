/// CRC-32 of ISO 3309 (polynomial 0x04C11DB7 reflected, initial value and final XOR all ones), eight octets per step.
enum CRC32 {
    static func checksum(_ octets: UnsafeRawBufferPointer) -> UInt32 {
        var crc = UInt32.max
        var index = 0
        tables.withUnsafeBufferPointer { table in
            while index &+ 8 <= octets.count {
                let eight = UInt64(littleEndian: octets.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ UInt64(crc)
                crc =
                    table[1_792 &+ Int(eight & 0xFF)] ^ table[1_536 &+ Int(eight >> 8 & 0xFF)] ^ table[1_280 &+ Int(eight >> 16 & 0xFF)]
                    ^ table[1_024 &+ Int(eight >> 24 & 0xFF)] ^ table[768 &+ Int(eight >> 32 & 0xFF)]
                    ^ table[512 &+ Int(eight >> 40 & 0xFF)] ^ table[256 &+ Int(eight >> 48 & 0xFF)] ^ table[Int(eight >> 56)]
                index &+= 8
            }
            while index < octets.count {
                crc = crc >> 8 ^ table[Int((crc ^ UInt32(octets[index])) & 0xFF)]
                index &+= 1
            }
        }
        return ~crc
    }

    /// Eight tables of 256 entries: the effect of an octet followed by zero to seven others.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for octet: UInt32 in 0..<256 {
            var crc = octet
            for _ in 0..<8 { crc = crc & 1 == 0 ? crc >> 1 : (crc >> 1) ^ 0xEDB8_8320 }
            tables.append(crc)
        }
        for index in 256..<2_048 {
            let before = tables[index - 256]
            tables.append((before >> 8) ^ tables[Int(before & 0xFF)])
        }
        return tables
    }()
}
