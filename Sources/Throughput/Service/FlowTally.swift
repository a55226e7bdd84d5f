/// Counters of a flow's receiver.
public struct FlowTally: Sendable, Hashable {
    public private(set) var packets = 0
    /// Value octets of packets received for the first time.
    public private(set) var octets = 0
    /// Sequence numbers skipped and not received since.
    public private(set) var lost = 0
    /// Packets with a sequence number received before.
    public private(set) var duplicated = 0
    /// Packets received after one with a higher sequence number.
    public private(set) var reordered = 0
    /// Packets with a wrong checksum.
    public private(set) var corrupted = 0

    private var expected: UInt32 = 0
    /// Skipped sequence numbers, the latest last; those beyond `memory` are dropped and count as lost.
    private var gaps: [UInt32] = []
    private static let memory = 4_096

    public init() {}

    /// True if every packet arrived once, in order and intact.
    public var isClean: Bool { isWhole(inOrder: true) }

    /// True if every packet arrived once and intact, and in order if the flow has one.
    func isWhole(inOrder: Bool) -> Bool { lost == 0 && duplicated == 0 && corrupted == 0 && (reordered == 0 || !inOrder) }

    /// Counts a packet. True if it is new.
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

    /// Closes the tally with the sender's count; packets sent after the last one received count as lost.
    public mutating func close(sent: UInt32) {
        let missing = Int32(bitPattern: sent &- expected)
        if missing > 0 { lost += Int(missing) }
        expected = sent
    }

    /// The sequence number after the highest received.
    var next: UInt32 { expected }

    /// Counts packets that did not arrive and are of no known sequence number.
    mutating func miss(_ count: Int) { lost += max(0, count) }

    /// Adds the counters of another flow.
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
