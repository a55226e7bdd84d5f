extension RawSpan {
    /// The octet at an offset that the caller has checked.
    @inlinable public func u8(at offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    /// The little-endian number at an offset that the caller has checked.
    @inlinable public func u16(at offset: Int) -> UInt16 {
        UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// A copy.
    @inlinable public var octets: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}
