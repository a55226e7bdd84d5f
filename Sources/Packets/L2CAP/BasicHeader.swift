/// The header of every L2CAP PDU: the length of the payload, and the channel. Core Vol 3, Part A, 3.1.
public struct L2CAPHeader: Sendable, Hashable {
    @inlinable public static var octets: Int { 4 }
    public var length: UInt16
    public var channel: UInt16

    @inlinable public init(length: UInt16, channel: UInt16) {
        self.length = length
        self.channel = channel
    }

    /// Decodes the header at the start of a PDU; nil if there are fewer than four octets.
    @inlinable public init?(_ bytes: borrowing RawSpan) {
        guard bytes.byteCount >= 4 else { return nil }
        length = UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt16.self))
        channel = UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 2, as: UInt16.self))
    }

    @inlinable public func encode(into writer: inout ByteWriter) {
        writer.u16(length)
        writer.u16(channel)
    }
}
