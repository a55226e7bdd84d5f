/// Appends fields to a growing packet.
public struct ByteWriter: Sendable {
    public var bytes: [UInt8]

    @inlinable public init(reserving capacity: Int = 0) {
        bytes = []
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    @inlinable public mutating func u8(_ value: UInt8) { bytes.append(value) }

    @inlinable public mutating func u16(_ value: UInt16) {
        bytes.append(UInt8(truncatingIfNeeded: value))
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    }

    @inlinable public mutating func u24(_ value: UInt32) { little(UInt64(value), 3) }
    @inlinable public mutating func u32(_ value: UInt32) { little(UInt64(value), 4) }
    @inlinable public mutating func u40(_ value: UInt64) { little(value, 5) }
    @inlinable public mutating func u48(_ value: UInt64) { little(value, 6) }
    @inlinable public mutating func u64(_ value: UInt64) { little(value, 8) }
    @inlinable public mutating func i8(_ value: Int8) { u8(UInt8(bitPattern: value)) }
    @inlinable public mutating func i16(_ value: Int16) { u16(UInt16(bitPattern: value)) }
    @inlinable public mutating func u16be(_ value: UInt16) { u16(value.byteSwapped) }
    @inlinable public mutating func u32be(_ value: UInt32) { u32(value.byteSwapped) }
    @inlinable public mutating func u64be(_ value: UInt64) { u64(value.byteSwapped) }

    /// Appends the lower `count` octets of a number, least significant first.
    @inlinable public mutating func little(_ value: UInt64, _ count: Int) {
        var value = value
        for _ in 0..<count {
            bytes.append(UInt8(truncatingIfNeeded: value))
            value >>= 8
        }
    }

    @inlinable public mutating func bytes(_ value: [UInt8]) { bytes.append(contentsOf: value) }
    @inlinable public mutating func bytes(_ value: ArraySlice<UInt8>) { bytes.append(contentsOf: value) }
    @inlinable public mutating func bytes(_ value: RawSpan) { value.withUnsafeBytes { bytes.append(contentsOf: $0) } }

    /// Appends exactly `count` octets: truncated, or padded with zeros.
    @inlinable public mutating func bytes(_ value: [UInt8], paddedTo count: Int) {
        bytes.append(contentsOf: value.prefix(count))
        zeros(count - value.count)
    }

    @inlinable public mutating func zeros(_ count: Int) {
        if count > 0 { bytes.append(contentsOf: repeatElement(0, count: count)) }
    }

    public mutating func uuid(_ value: BluetoothUUID) { bytes.append(contentsOf: value.octets) }
}
