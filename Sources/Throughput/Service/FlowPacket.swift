/// A packet of a flow: sequence number, filler, checksum. See docs/guide/throughput-service.md.
///
/// Octets 0...3 contain the sequence number, the last four the CRC-32 of all octets before, both little-endian. Filler octet `i` of the
/// packet is the low octet of sequence number + `i`.
public enum FlowPacket {
    /// Length of a packet without filler.
    public static let shortest = 8

    /// Fills `packet` with `count` octets, but at least `shortest`.
    public static func write(sequence: UInt32, count: Int, into packet: inout [UInt8]) {
        let count = max(count, shortest)
        if packet.count != count { packet = [UInt8](repeating: 0, count: count) }
        packet.withUnsafeMutableBytes { octets in
            octets.storeBytes(of: sequence.littleEndian, as: UInt32.self)
            var index = 4
            while index < count - 4 {
                let first = Int(UInt8(truncatingIfNeeded: sequence &+ UInt32(index)))
                let filler = ramp[first..<first + min(256, count - 4 - index)]
                UnsafeMutableRawBufferPointer(rebasing: octets[index...]).copyBytes(from: filler)
                index += filler.count
            }
            let checksum = CRC32.checksum(UnsafeRawBufferPointer(rebasing: octets[..<(count - 4)]))
            octets.storeBytes(of: checksum.littleEndian, toByteOffset: count - 4, as: UInt32.self)
        }
    }

    /// All octet values twice, from which any filler is copied.
    private static let ramp: [UInt8] = (0..<512).map { UInt8(truncatingIfNeeded: $0) }

    public static func make(sequence: UInt32, count: Int) -> [UInt8] {
        var packet: [UInt8] = []
        write(sequence: sequence, count: count, into: &packet)
        return packet
    }

    /// The sequence number of an intact packet; nil if it is too short or its checksum is wrong.
    public static func sequence(of packet: RawSpan) -> UInt32? {
        guard packet.byteCount >= shortest else { return nil }
        return packet.withUnsafeBytes { octets in
            let checksum = UInt32(littleEndian: octets.loadUnaligned(fromByteOffset: octets.count - 4, as: UInt32.self))
            guard CRC32.checksum(UnsafeRawBufferPointer(rebasing: octets[..<(octets.count - 4)])) == checksum else { return nil }
            return UInt32(littleEndian: octets.loadUnaligned(as: UInt32.self))
        }
    }
}
