import BBHost
import BBPackets
import BBTiming
import BBTransport

extension FuzzTarget {
    private static let channelLayer: LayerOfAction = { [.att, .l2capSignaling, .smp, nil][$0.kind] }

    /// L2CAP PDUs of a peer, complete or in fragments of any kind: the link stays, and both servers respond afterwards.
    static let channels = FuzzTarget(
        name: "channels", layer: channelLayer,
        seeds: {
            Seeds.declared(channelLayer)
                + Seeds.written(["0A0300|0A0300", "0217|02F700", "52", "1D030000", "0B00", "16030000000102|1801"], Frames.Action(end: 1))
                + Seeds.written(
                    ["12010800060010000000C800", "01010200 0000", "0607040040004100", "1409 0a00 8000 4000 1700 1700 0100"],
                    Frames.Action(end: 0, kind: 1))
                + Seeds.written(
                    ["0C" + String(repeating: "11", count: 64), "0B00", "01030000 11 0707", "0502"], Frames.Action(end: 1, kind: 2))
                + Seeds.written(
                    ["FF000400 01|01000400 02", "0500", "01|00040001", "0100 0300 02"], Frames.Action(end: 1, kind: 3, extra: 2))
        },
        run: { input in
            let frames = Frames(input)
            try HostWorld().run { world in
                for frame in frames.list {
                    inject(frame, world)
                    try await world.loop.sleep(for: frame.action.pause)
                }
                try await world.loop.sleep(for: .milliseconds(200))
                for link in world.links {
                    try promise(link.isConnected, "the link has ended: \(link.disconnectReason.map { "\($0)" } ?? "")")
                    let name = try await link.gatt.read(3)
                    try promise(name == Array("fuzz".utf8), "the server answers with another name: \(Hex.octets(name))")
                }
            }
        })

    private static func inject(_ frame: Frames.Frame, _ world: HostWorld) {
        let link = world.links[frame.action.end]
        let channel: UInt8? = [4, 5, 6, nil][frame.action.kind]
        let packet = Array(frame.packet.prefix(1_000))
        let count = packet.count
        let pdu = channel.map { [UInt8(count & 0xFF), UInt8(count >> 8), $0, 0] + packet } ?? packet
        let boundary = channel == nil ? UInt16(frame.action.extra) : 2
        let first = link.handle.rawValue | boundary << 12
        world.taps[frame.action.end].inject(
            HCIPacket(.acl, [UInt8(first & 0xFF), UInt8(first >> 8), UInt8(pdu.count & 0xFF), UInt8(pdu.count >> 8)] + pdu))
    }
}
