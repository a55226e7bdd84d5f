/// The header of an HCI ACL data packet. Core Vol 4, Part E, 5.4.2.
public struct ACLHeader: Sendable, Hashable {
    /// Packet_Boundary_Flag.
    public enum Boundary: UInt8, Sendable, Hashable, CaseIterable {
        /// The first fragment of a non-flushable PDU from a host, used by LE hosts.
        case firstNonFlushable = 0
        case continuing = 1
        /// The first fragment, used by controllers.
        case first = 2
        case complete = 3
    }

    @inlinable public static var octets: Int { 4 }
    public var handle: ConnectionHandle
    public var boundary: Boundary
    /// Broadcast_Flag: 0 point-to-point, 1 broadcast.
    public var broadcast: UInt8
    /// Data_Total_Length as in the header.
    public var length: UInt16

    @inlinable public init(handle: ConnectionHandle, boundary: Boundary, broadcast: UInt8 = 0, length: UInt16) {
        self.handle = handle
        self.boundary = boundary
        self.broadcast = broadcast
        self.length = length
    }

    /// Decodes the header at the start of a packet; nil if there are fewer than four octets.
    @inlinable public init?(_ bytes: borrowing RawSpan) {
        guard bytes.byteCount >= 4 else { return nil }
        let word = UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt16.self))
        handle = ConnectionHandle(word & 0x0FFF)
        boundary = Boundary(rawValue: UInt8(truncatingIfNeeded: word >> 12) & 3) ?? .complete
        broadcast = UInt8(truncatingIfNeeded: word >> 14)
        length = UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 2, as: UInt16.self))
    }

    @inlinable public func encode(into writer: inout ByteWriter) {
        writer.u16(handle.rawValue & 0x0FFF | UInt16(boundary.rawValue) << 12 | UInt16(broadcast & 3) << 14)
        writer.u16(length)
    }
}

extension HCIPacket {
    /// Creates an ACL data packet.
    @inlinable public init(
        acl handle: ConnectionHandle, _ boundary: ACLHeader.Boundary, broadcast: UInt8 = 0, _ data: some Collection<UInt8>
    ) {
        var writer = ByteWriter(reserving: 4 + data.count)
        ACLHeader(handle: handle, boundary: boundary, broadcast: broadcast, length: UInt16(truncatingIfNeeded: data.count)).encode(
            into: &writer)
        writer.bytes.append(contentsOf: data)
        self.init(.acl, writer.bytes)
    }

    /// The header of an ACL data packet.
    @inlinable public var aclHeader: ACLHeader? { kind == .acl ? ACLHeader(bytes.span.bytes) : nil }

    /// The connection of an ACL, synchronous or isochronous data packet: the headers of all three start with it.
    /// Core Vol 4, Part E, 5.4.2 to 5.4.5.
    @inlinable public var dataHandle: ConnectionHandle? {
        switch kind {
        case .acl, .sco, .iso: bytes.count >= 2 ? ConnectionHandle(bytes.span.bytes.u16(at: 0) & 0x0FFF) : nil
        case .command, .event: nil
        }
    }
}
