import BBPackets
import BBTiming

@testable import BBSimulation

extension FuzzTarget {
    private static let controlLayer: LayerOfAction = { $0.kind < 2 ? .llControl : nil }

    /// Any control or data PDU on a link, from either side: both controllers survive, and their hosts get well-formed packets.
    static let linkLayer = FuzzTarget(
        name: "link-layer", layer: controlLayer,
        seeds: {
            Seeds.declared(controlLayer)
                + Seeds.written(
                    ["00080100000000000001", "0208", "07FF", "14FB009042FB009042", "0D02", "FF", ""], Frames.Action(end: 1, pause: 5))
        },
        run: { input in
            let frames = Frames(input)
            try RawWorld().run { world in
                try await world.connect()
                for end in world.ends { end.forget() }
                for frame in frames.list {
                    perform(frame, world)
                    try await world.loop.sleep(for: frame.action.pause)
                }
                try await world.loop.sleep(for: .milliseconds(100))
                for index in 0..<2 { try world.checkWhatCame(at: index) }
                try await world.settle()
            }
        })

    /// Sends a control PDU outside any procedure, a PDU with any LLID, or data of the host.
    private static func perform(_ frame: Frames.Frame, _ world: RawWorld) {
        let payload = Array(frame.packet.prefix(251))
        let identifier = world.identifiers[frame.action.end]
        switch frame.action.kind {
        case 0, 1: _ = world.simulation.inject(payload, from: identifier)
        case 2:
            let llid = frame.action.extra
            guard let link = world.simulation.controller(identifier)?.links.first?.connection else { return }
            _ = link.inject(OutgoingPDU(llid: llid, payload: payload[...], kind: .empty))
        default: world.ends[frame.action.end].transport.send(HCIPacket(.acl, [1, 0, UInt8(payload.count), 0] + payload))
        }
    }
}
