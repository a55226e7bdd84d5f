import BBPackets
import BBTransport

extension FuzzTarget {
    /// A byte stream yields the same packets and the same failure as a whole, in the pieces of the frames, and octet by octet.
    static let h4 = FuzzTarget(
        name: "h4", layer: { _ in nil },
        seeds: {
            Seeds.declared { [nil, .hciCommands, .hciEvents, nil][$0.kind] }.map { seed in
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
        for piece in pieces where outcome.failure == nil {
            piece.withUnsafeBytes { octets in
                var rest = octets
                do throws(H4Framer.Failure) {
                    while let packet = try framer.next(of: &rest) { outcome.packets.append(packet) }
                } catch {
                    outcome.failure = error
                }
            }
        }
        if outcome.failure == nil { outcome.pending = framer.pendingCount }
        return outcome
    }
}
