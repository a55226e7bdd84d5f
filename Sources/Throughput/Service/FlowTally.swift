/// What the receiver of a flow has seen, packet by packet.
public struct FlowTally: Sendable, Hashable {
    public private(set) var packets = 0
    /// Octets of value in packets that arrived for the first time.
    public private(set) var octets = 0
    /// Sequence numbers passed over and not seen since.
    public private(set) var lost = 0
    /// Packets whose sequence number had been seen already.
    public private(set) var duplicated = 0
    /// Packets that arrived after one with a higher sequence number.
    public private(set) var reordered = 0
    /// Packets whose checksum was wrong.
    public private(set) var corrupted = 0

    private var expected: UInt32 = 0
    /// Sequence numbers passed over, the latest last; older ones than `memory` are forgotten and count as lost.
    private var gaps: [UInt32] = []
    private static let memory = 4_096

    public init() {}

    /// Whether every packet came once, in order and intact.
    public var isClean: Bool { lost == 0 && duplicated == 0 && reordered == 0 && corrupted == 0 }

    /// Counts a packet. True when it carried something new.
    @discardableResult
    public mutating func add(_ packet: RawSpan) -> Bool {
        packets += 1
        guard let sequence = FlowPacket.sequence(of: packet) else {
            corrupted += 1
            return false
        }
        if sequence == expected {
            expected &+= 1
        } else if Int32(bitPattern: sequence &- expected) > 0 {
            passOver(upTo: sequence)
        } else {
            guard let index = gaps.lastIndex(of: sequence) else {
                duplicated += 1
                return false
            }
            gaps.remove(at: index)
            lost -= 1
            reordered += 1
        }
        octets += packet.byteCount
        return true
    }

    /// The sender's own count, once it has stopped: what it sent after the last packet seen is lost too.
    public mutating func close(sent: UInt32) {
        let missing = Int32(bitPattern: sent &- expected)
        if missing > 0 { lost += Int(missing) }
        expected = sent
    }

    /// Adds what the receiver of another flow has seen.
    mutating func add(_ other: FlowTally) {
        (packets, octets, lost) = (packets + other.packets, octets + other.octets, lost + other.lost)
        (duplicated, reordered, corrupted) = (
            duplicated + other.duplicated, reordered + other.reordered, corrupted + other.corrupted
        )
    }

    private mutating func passOver(upTo sequence: UInt32) {
        let missing = sequence &- expected
        lost += Int(missing)
        if missing <= UInt32(Self.memory) { gaps += (0..<missing).map { expected &+ $0 } }
        if gaps.count > Self.memory { gaps.removeFirst(gaps.count - Self.memory) }
        expected = sequence &+ 1
    }
}
