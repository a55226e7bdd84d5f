/// Buffers that are used again once nobody holds their packets any more, so that a steady flow allocates nothing.
///
/// They come in turn. A packet that is still held when its buffer's turn comes keeps it, and the new packet gets memory of its own.
public struct PacketPool: Sendable {
    @usableFromInline var buffers: [ByteWriter]
    @usableFromInline var next = 0

    /// - Parameter count: how many packets are held at the same time, as a rule.
    public init(_ count: Int) { buffers = Array(repeating: ByteWriter(), count: max(1, count)) }

    /// The packet that `write` appends to an empty buffer.
    @inlinable public mutating func make(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
        let place = next
        next = place + 1 == buffers.count ? 0 : place + 1
        buffers[place].bytes.removeAll(keepingCapacity: true)
        write(&buffers[place])
        return buffers[place].bytes
    }
}
