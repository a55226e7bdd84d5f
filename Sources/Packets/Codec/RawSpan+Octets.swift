extension RawSpan {
    /// Returns the octet at an offset that the caller has checked.
    @inlinable public func u8(at offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    /// Returns the little-endian number at an offset that the caller has checked.
    @inlinable public func u16(at offset: Int) -> UInt16 {
        UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// Returns a copy of the octets.
    @inlinable public var octets: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}
