import BBPackets
import BBTiming

extension FuzzTarget {
    private static let commandLayer: LayerOfAction = { $0.kind < 3 ? .hciCommands : nil }

    /// Every command, valid or invalid, to two virtual controllers, connected or not: each gets one answer, and all packets are
    /// well-formed.
    static let commands = FuzzTarget(
        name: "commands", layer: commandLayer, seeds: { Seeds.declared(commandLayer) + loopback },
        run: { input in
            let frames = Frames(input)
            try RawWorld().run { world in
                if frames.settings & 1 == 1 { try await world.connect() }
                for end in world.ends { end.forget() }
                var sent = [0, 0]
                for frame in frames.list {
                    let (packet, index) = (frame.packet, frame.action.end)
                    world.ends[index].transport.send(
                        HCIPacket(frame.action.kind < 3 ? .command : frame.action.extra == 0 ? .sco : .acl, packet))
                    if frame.action.kind < 3, packet.count >= 3 { sent[index] += 1 }
                    try await world.loop.sleep(for: frame.action.pause)
                }
                try await world.loop.sleep(for: .milliseconds(20))
                for index in 0..<2 {
                    try world.checkWhatCame(at: index)
                    let answers = world.ends[index].packets.count(where: isAnswer)
                    try promise(
                        answers <= sent[index] && answers >= sent[index] - silent(frames, index),
                        "\(answers) answers to \(sent[index]) commands")
                }
                try await world.settle()
            }
        })

    /// Number of commands that may have no answer: Host_Number_Of_Completed_Packets has one only if it is invalid (Core Vol 4, Part E,
    /// 7.3.40), and events of local loopback mode can be masked.
    private static func silent(_ frames: Frames, _ index: Int) -> Int {
        let own = frames.list.filter { $0.action.end == index }
        let usesLoopback = own.contains { $0.packet.starts(with: [0x02, 0x18]) }
        return own.count { usesLoopback || $0.packet.starts(with: [0x35, 0x0C]) }
    }

    /// Command Complete, Command Status or Loopback_Command.
    private static func isAnswer(_ packet: HCIPacket) -> Bool {
        [0x0E, 0x0F, 0x19].contains(packet.eventCode ?? 0)
    }

    private static let loopback = Seeds.written(["02180101|010C0105|03200100|40000300010203"], Frames.Action(end: 0))
}
