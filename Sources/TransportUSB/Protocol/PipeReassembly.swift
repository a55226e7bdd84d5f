import BBPackets
import BBTransport

/// Reassembles HCI packets from the transfers of one IN pipe. Core Vol 4, Part B, 2.1.
///
/// A packet ends by its own length; empty transfers are ignored. A packet may span several transfers, and a transfer may contain several
/// packets. Octets that cannot start a packet are counted and discarded, and the next transfer is taken as a start. The pipe thus recovers
/// with the next packet after a loss.
struct PipeReassembly {
    private let kind: HCIPacket.Kind
    /// Maximum packet length; a longer packet means that reassembly has lost its position.
    private let longest: Int
    private let headerLength: Int
    private var pending: [UInt8] = []
    /// Number of transfers or remainders discarded because they were not part of a packet.
    private(set) var discarded = 0
    /// Octets after the end of a packet at the end of a short transfer, too few for another packet.
    private(set) var strayOctets = 0
    /// Transfers that contained the end of one packet and the start of the next.
    private(set) var joined = 0

    init(_ kind: HCIPacket.Kind, longest: Int) {
        self.kind = kind
        self.longest = longest
        headerLength = kind == .event ? 2 : 4
    }

    /// Adds the octets of a transfer and delivers the packets that are complete.
    ///
    /// - Parameter isShort: the transfer ended with a short USB packet, so the dongle had no more data. A remainder too short for a header
    ///   is then discarded.
    mutating func append(_ piece: UnsafeRawBufferPointer, isShort: Bool = false, _ deliver: (HCIPacket) -> Void) {
        pending.append(contentsOf: piece)
        var start = 0
        while let length = kind.packetLength(in: pending.span.bytes.extracting(droppingFirst: start)) {
            guard length <= longest else {
                discarded += 1
                pending = []
                return
            }
            guard pending.count - start >= length else { break }
            deliver(HCIPacket(kind, Array(pending[start..<start + length])))
            start += length
        }
        if start > 0 { pending.removeFirst(start) }
        if isShort, pending.count < headerLength {
            strayOctets += pending.count
            pending = []
        } else if start > 0, !pending.isEmpty {
            joined += 1
        }
    }

    /// Discards an incomplete packet after an error on the pipe.
    mutating func restart() {
        if !pending.isEmpty { discarded += 1 }
        pending = []
    }
}
