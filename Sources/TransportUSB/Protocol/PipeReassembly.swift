import Packets
import Transport

/// Puts HCI packets together from what one IN pipe brings, in whatever pieces. Core Vol 4, Part B, 2.1.
///
/// The packet's own length ends it; packets of no octets are passed over. A piece that cannot begin a packet is counted and thrown away, and the
/// next one is taken as a beginning: after a lost piece the pipe finds its feet at the next packet.
struct PipeReassembly {
    private let kind: HCIPacket.Kind
    /// Packets longer than this cannot be: the pipe has lost its place.
    private let longest: Int
    private var pending: [UInt8] = []
    /// Pieces or rests thrown away because they were not part of a packet.
    private(set) var discarded = 0

    init(_ kind: HCIPacket.Kind, longest: Int) {
        self.kind = kind
        self.longest = longest
    }

    mutating func append(_ piece: UnsafeRawBufferPointer, _ deliver: (HCIPacket) -> Void) {
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
    }

    /// Forgets a packet that is not complete, after an error on the pipe.
    mutating func restart() {
        if !pending.isEmpty { discarded += 1 }
        pending = []
    }
}
