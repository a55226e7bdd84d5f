/// CRC-32 as in ISO 3309 (polynomial 0x04C11DB7 reflected, initial value and final XOR of all ones), four octets at a step.
enum CRC32 {
    static func checksum(_ octets: UnsafeRawBufferPointer) -> UInt32 {
        var crc = UInt32.max
        var index = 0
        tables.withUnsafeBufferPointer { table in
            while index &+ 4 <= octets.count {
                crc ^=
                    UInt32(octets[index]) | UInt32(octets[index &+ 1]) << 8 | UInt32(octets[index &+ 2]) << 16 | UInt32(octets[index &+ 3])
                    << 24
                crc =
                    table[768 &+ Int(crc & 0xFF)] ^ table[512 &+ Int(crc >> 8 & 0xFF)] ^ table[256 &+ Int(crc >> 16 & 0xFF)]
                    ^ table[Int(crc >> 24)]
                index &+= 4
            }
            while index < octets.count {
                crc = crc >> 8 ^ table[Int((crc ^ UInt32(octets[index])) & 0xFF)]
                index &+= 1
            }
        }
        return ~crc
    }

    /// Four tables of 256: an octet's effect, alone and with one, two and three octets after it.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for octet: UInt32 in 0..<256 {
            var crc = octet
            for _ in 0..<8 { crc = crc & 1 == 0 ? crc >> 1 : (crc >> 1) ^ 0xEDB8_8320 }
            tables.append(crc)
        }
        for index in 256..<1_024 {
            let before = tables[index - 256]
            tables.append((before >> 8) ^ tables[Int(before & 0xFF)])
        }
        return tables
    }()
}
