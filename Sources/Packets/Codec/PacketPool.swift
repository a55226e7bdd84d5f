/// Buffers that are reused when their packets have been released, so that a constant flow does not allocate.
///
/// They are used in turn. If a buffer's packet is still in use, the new packet gets its own memory.
public struct PacketPool: Sendable {
    @usableFromInline var buffers: [ByteWriter]
    @usableFromInline var next = 0

    /// - Parameter count: the usual number of packets in use at the same time.
    public init(_ count: Int) { buffers = Array(repeating: ByteWriter(), count: max(1, count)) }

    /// Returns the packet that `write` appends to an empty buffer.
    @inlinable public mutating func make(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
        let place = next
        next = place + 1 == buffers.count ? 0 : place + 1
        buffers[place].bytes.removeAll(keepingCapacity: true)
        write(&buffers[place])
        return buffers[place].bytes
    }
}
