extension Array where Element == UInt8 {
    mutating func append<Number: FixedWidthInteger>(little number: Number) {
        for shift in stride(from: 0, to: Number.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: number >> Number(shift))) }
    }

    mutating func append<Number: FixedWidthInteger>(big number: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> Number(shift))) }
    }
}

extension ArraySlice where Element == UInt8 {
    /// The number at an offset in the slice; nil beyond its end.
    func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self, at offset: Int, big: Bool) -> Number? {
        let width = Number.bitWidth / 8
        guard offset >= 0, count - offset >= width else { return nil }
        var value: Number = 0
        for index in 0..<width {
            let octet = self[startIndex + offset + (big ? index : width - 1 - index)]
            value = Number(truncatingIfNeeded: UInt64(truncatingIfNeeded: value) << 8 | UInt64(octet))
        }
        return value
    }
}
