/// A packet of a flow: sequence number, filler, checksum. See docs/throughput-service.md.
///
/// Octets 0...3 hold the sequence number, the last four the CRC-32 of all before them, both little-endian; filler octet `i` of the packet is the low
/// octet of sequence number + `i`.
public enum FlowPacket {
    /// A packet without filler.
    public static let shortest = 8

    /// Fills `packet` anew. Packets shorter than `shortest` are lengthened to it.
    public static func write(sequence: UInt32, count: Int, into packet: inout [UInt8]) {
        let count = max(count, shortest)
        if packet.count != count { packet = [UInt8](repeating: 0, count: count) }
        packet.withUnsafeMutableBufferPointer { octets in
            put(sequence, at: 0, in: octets)
            var filler = UInt8(truncatingIfNeeded: sequence &+ 4)
            for index in 4..<(count - 4) {
                octets[index] = filler
                filler &+= 1
            }
            put(CRC32.checksum(of: UnsafeBufferPointer(rebasing: octets[..<(count - 4)])), at: count - 4, in: octets)
        }
    }

    public static func make(sequence: UInt32, count: Int) -> [UInt8] {
        var packet: [UInt8] = []
        write(sequence: sequence, count: count, into: &packet)
        return packet
    }

    /// The sequence number of an intact packet; nil when the packet is too short or its checksum is wrong.
    public static func sequence(of packet: some RandomAccessCollection<UInt8>) -> UInt32? {
        packet.withContiguousStorageIfAvailable { sequence(in: $0) } ?? Array(packet).withUnsafeBufferPointer { sequence(in: $0) }
    }

    private static func sequence(in octets: UnsafeBufferPointer<UInt8>) -> UInt32? {
        guard octets.count >= shortest else { return nil }
        let checksum = CRC32.checksum(of: UnsafeBufferPointer(rebasing: octets[..<(octets.count - 4)]))
        return checksum == get(at: octets.count - 4, in: octets) ? get(at: 0, in: octets) : nil
    }

    private static func put(_ value: UInt32, at index: Int, in octets: UnsafeMutableBufferPointer<UInt8>) {
        for octet in 0..<4 { octets[index + octet] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(octet))) }
    }

    private static func get(at index: Int, in octets: UnsafeBufferPointer<UInt8>) -> UInt32 {
        UInt32(octets[index]) | UInt32(octets[index + 1]) << 8 | UInt32(octets[index + 2]) << 16 | UInt32(octets[index + 3]) << 24
    }
}
