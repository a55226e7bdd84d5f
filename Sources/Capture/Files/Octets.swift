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
    func number<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type = Number.self, at offset: Int, big: Bool) -> Number? {
        span.bytes.number(at: offset, big: big)
    }
}

extension RawSpan {
    /// The number at an offset; nil beyond the end.
    func number<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type = Number.self, at offset: Int, big: Bool) -> Number? {
        guard offset >= 0, byteCount - offset >= MemoryLayout<Number>.size else { return nil }
        let number = unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self)
        return big ? Number(bigEndian: number) : Number(littleEndian: number)
    }
}
