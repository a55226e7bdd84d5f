import Packets
import Transport

/// Puts HCI packets together from what one IN pipe brings, in whatever pieces. Core Vol 4, Part B, 2.1.
///
/// The packet's own length ends it; packets of no octets are passed over. A packet may come in several transfers, and a transfer may bring several
/// packets. A piece that cannot begin a packet is counted and thrown away, and the next one is taken as a beginning: after a lost piece the pipe
/// finds its feet at the next packet.
struct PipeReassembly {
    private let kind: HCIPacket.Kind
    /// Packets longer than this cannot be: the pipe has lost its place.
    private let longest: Int
    private let headerLength: Int
    private var pending: [UInt8] = []
    /// Pieces or rests thrown away because they were not part of a packet.
    private(set) var discarded = 0
    /// Octets after the end of a packet, at the end of a short transfer: too few to begin another.
    private(set) var strayOctets = 0
    /// Transfers that brought the end of one packet and some of the next.
    private(set) var joined = 0

    init(_ kind: HCIPacket.Kind, longest: Int) {
        self.kind = kind
        self.longest = longest
        headerLength = kind == .event ? 2 : 4
    }

    /// - Parameter isShort: the transfer ended with a packet of the pipe that was not full, so its sender had no more to say. What is left then and
    ///   cannot be a header is no beginning of a packet.
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

    /// Forgets a packet that is not complete, after an error on the pipe.
    mutating func restart() {
        if !pending.isEmpty { discarded += 1 }
        pending = []
    }
}
