/// Reads a packet's fields in order from borrowed bytes. Every read is checked; none traps.
public struct ByteReader: ~Escapable {
    @usableFromInline let span: RawSpan
    @usableFromInline var position: Int
    /// The end of the readable octets; less than the span inside `enter`.
    @usableFromInline var end: Int

    @inlinable
    @_lifetime(copy span)
    public init(_ span: RawSpan) {
        self.span = span
        position = 0
        end = span.byteCount
    }

    /// The position of the next octet.
    @inlinable public var offset: Int { position }

    /// The number of remaining octets.
    @inlinable public var remaining: Int { end - position }

    @inlinable
    mutating func take(_ count: Int, _ field: StaticString) throws(PDUError) -> Int {
        guard count <= end - position else { throw short(count, field) }
        let start = position
        position = start + count
        return start
    }

    @usableFromInline
    @inline(never)
    func short(_ count: Int, _ field: StaticString) -> PDUError {
        PDUError(field: field.description, offset: position, problem: .short(needed: count, left: end - position))
    }

    @inlinable public mutating func u8(_ field: StaticString) throws(PDUError) -> UInt8 {
        span.unsafeLoadUnaligned(fromUncheckedByteOffset: try take(1, field), as: UInt8.self)
    }

    @inlinable public mutating func u16(_ field: StaticString) throws(PDUError) -> UInt16 {
        UInt16(littleEndian: span.unsafeLoadUnaligned(fromUncheckedByteOffset: try take(2, field), as: UInt16.self))
    }

    @inlinable public mutating func u24(_ field: StaticString) throws(PDUError) -> UInt32 {
        UInt32(truncatingIfNeeded: try little(3, field))
    }

    @inlinable public mutating func u32(_ field: StaticString) throws(PDUError) -> UInt32 {
        UInt32(littleEndian: span.unsafeLoadUnaligned(fromUncheckedByteOffset: try take(4, field), as: UInt32.self))
    }

    @inlinable public mutating func u40(_ field: StaticString) throws(PDUError) -> UInt64 { try little(5, field) }
    @inlinable public mutating func u48(_ field: StaticString) throws(PDUError) -> UInt64 { try little(6, field) }

    @inlinable public mutating func u64(_ field: StaticString) throws(PDUError) -> UInt64 {
        UInt64(littleEndian: span.unsafeLoadUnaligned(fromUncheckedByteOffset: try take(8, field), as: UInt64.self))
    }

    @inlinable public mutating func i8(_ field: StaticString) throws(PDUError) -> Int8 { Int8(bitPattern: try u8(field)) }
    @inlinable public mutating func i16(_ field: StaticString) throws(PDUError) -> Int16 { Int16(bitPattern: try u16(field)) }
    @inlinable public mutating func u16be(_ field: StaticString) throws(PDUError) -> UInt16 { (try u16(field)).byteSwapped }
    @inlinable public mutating func u32be(_ field: StaticString) throws(PDUError) -> UInt32 { (try u32(field)).byteSwapped }
    @inlinable public mutating func u64be(_ field: StaticString) throws(PDUError) -> UInt64 { (try u64(field)).byteSwapped }

    /// Reads an unsigned number of up to eight octets, least significant first.
    @inlinable public mutating func little(_ count: Int, _ field: StaticString) throws(PDUError) -> UInt64 {
        let start = try take(count, field)
        var value: UInt64 = 0
        var index = count
        while index > 0 {
            index -= 1
            value = value << 8 | UInt64(span.unsafeLoadUnaligned(fromUncheckedByteOffset: start + index, as: UInt8.self))
        }
        return value
    }

    /// Returns a copy of the next `count` octets.
    @inlinable public mutating func bytes(_ count: Int, _ field: StaticString) throws(PDUError) -> [UInt8] {
        let start = try take(max(0, count), field)
        guard count > 0 else { return [] }
        return span.extracting(start..<start + count).withUnsafeBytes { [UInt8]($0) }
    }

    /// Returns a copy of all remaining octets.
    @inlinable public mutating func rest() -> [UInt8] {
        let start = position
        position = end
        guard start < end else { return [] }
        return span.extracting(start..<end).withUnsafeBytes { [UInt8]($0) }
    }

    /// Reads a UUID of 2, 4 or 16 octets.
    public mutating func uuid(_ count: Int, _ field: StaticString) throws(PDUError) -> BluetoothUUID {
        guard let uuid = BluetoothUUID(octets: try bytes(count, field)) else {
            throw PDUError(
                field: field.description, offset: position - count, problem: .value("a UUID has 2, 4 or 16 octets, not \(count)"))
        }
        return uuid
    }

    @inlinable public mutating func skip(_ count: Int, _ field: StaticString) throws(PDUError) { _ = try take(count, field) }

    /// Limits reading to the next `count` octets; the result is the argument of `leave`.
    @inlinable public mutating func enter(_ count: Int, _ field: StaticString) throws(PDUError) -> Int {
        guard count > 0, count <= end - position else { throw short(max(1, count), field) }
        let outer = end
        end = position + count
        return outer
    }

    /// Ends `enter`, whose octets must all have been read.
    @inlinable public mutating func leave(_ outer: Int, _ field: StaticString) throws(PDUError) {
        guard position == end else { throw PDUError(field: field.description, offset: position, problem: .trailing(end - position)) }
        end = outer
    }
}
