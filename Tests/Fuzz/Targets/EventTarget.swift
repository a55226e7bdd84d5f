import BBHost
import BBPackets
import BBTiming
import BBTransport

extension FuzzTarget {
    private static let eventLayer: LayerOfAction = { $0.kind < 3 ? .hciEvents : nil }

    /// Every event, valid or invalid, and any data to a host with a link: it can still run commands.
    static let events = FuzzTarget(
        name: "events", layer: eventLayer,
        seeds: {
            Seeds.declared(eventLayer)
                + Seeds.written(
                    [
                        "1305010100FFFF|13050101000100", "3E00|3E0100|3E01FF", "3E02020 0|3E02021A", "0E0401000000|0F0400000000",
                        "0504000100 13|0504000100 13",
                        "3E1301000100000001020304050618000000C80000", "0E0301000 0",
                    ], Frames.Action(end: 0))
        },
        run: { input in
            let frames = Frames(input)
            try HostWorld().run { world in
                for frame in frames.list {
                    let kind: HCIPacket.Kind = frame.action.kind < 3 ? .event : [.acl, .acl, .sco, .iso][Int(frame.action.extra)]
                    world.taps[frame.action.end].inject(HCIPacket(kind, frame.packet))
                    try await world.loop.sleep(for: frame.action.pause)
                }
                try await world.loop.sleep(for: .milliseconds(50))
                for host in world.hosts {
                    // The events may have taken away all command credits; the host tries again after one timeout.
                    _ = try? await host.send(HCICommands.ReadBDADDR())
                    _ = try await host.send(HCICommands.ReadBDADDR())
                }
            }
        })
}
