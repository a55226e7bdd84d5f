import Packets
import Transport

extension FuzzTarget {
    /// A byte stream gives the same packets and the same failure in one piece, in the pieces of the frames, and byte by byte.
    static let h4 = FuzzTarget(
        name: "h4", layer: { _ in nil },
        seeds: {
            Seeds.declared { [nil, "HCICommands", "HCIEvents", nil][$0.kind] }.map { seed in
                var frames = Frames(seed)
                for index in frames.list.indices {
                    let kind = frames.list[index].action.kind
                    frames.list[index].packet.insert(kind == 1 ? 1 : 4, at: 0)
                }
                return frames.octets()
            }
        },
        run: { input in
            let pieces = Frames(input).list.map(\.packet)
            let stream = Array(pieces.joined())
            let whole = framed([stream])
            try promise(framed(pieces) == whole, "cut into pieces of \(pieces.map(\.count)) octets the stream differs")
            try promise(framed(stream.map { [$0] }) == whole, "octet by octet the stream differs")
            try promise(whole.packets.allSatisfy(\.isWhole), "a packet of another length than its header says")
        })

    private struct Outcome: Equatable {
        var packets: [HCIPacket] = []
        var failure: H4Framer.Failure?
        var pending = 0
    }

    private static func framed(_ pieces: [[UInt8]]) -> Outcome {
        var framer = H4Framer(longestPacket: 2_048)
        var outcome = Outcome()
        do throws(H4Framer.Failure) {
            for piece in pieces {
                framer.append(piece)
                while let packet = try framer.next() { outcome.packets.append(packet) }
            }
            outcome.pending = framer.pendingCount
        } catch {
            outcome.failure = error
        }
        return outcome
    }
}
