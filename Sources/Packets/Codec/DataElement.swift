/// The header of a data element, which determines its length. Core Vol 3, Part B, 3.2 and 3.3.
enum DataElementHeader {
    /// A sequence of up to 255 octets.
    static let shortSequence: UInt8 = 0x35

    /// Returns the number of octets of the first element with its header; more than available if it is truncated.
    static func octets(of bytes: ArraySlice<UInt8>) -> Int {
        guard let first = bytes.first else { return 1 }
        let index = Int(first & 7)
        guard index >= 5 else { return 1 + (first >> 3 == 0 ? 0 : 1 << index) }
        let width = 1 << (index - 5)
        guard bytes.count > width else { return 1 + width }
        return 1 + width + bytes.dropFirst().prefix(width).reduce(0) { $0 << 8 | Int($1) }
    }
}

extension ByteReader {
    /// Returns a copy of a data element with its header.
    public mutating func dataElement(_ field: StaticString) throws(PDUError) -> [UInt8] {
        let head = span.extracting(position..<min(end, position + 5)).withUnsafeBytes { [UInt8]($0) }
        return try bytes(DataElementHeader.octets(of: head[...]), field)
    }
}
