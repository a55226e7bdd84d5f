import BBHCI
import BBPackets
import BBTiming

@testable import BBHost

extension FuzzTarget {
    private static let dataLayer: LayerOfAction = { $0.kind == 1 ? .l2capSignaling : nil }

    /// L2CAP without a stack around it: PDUs fragmented to buffers of any size and reassembled, with fragments changed, lost and inserted,
    /// and signalling in both roles. Buffers are not overdrawn, queues are bounded, responses get no response, and data sent after
    /// everything is idle arrives completely.
    static let data = FuzzTarget(
        name: "l2cap", layer: dataLayer,
        seeds: {
            let pass = Frames.Frame(action: .init(end: 0, kind: 3, extra: 3), packet: [])
            return Seeds.declared(dataLayer, count: 48)
                + (UInt8(0)..<32).map { setting in
                    let sends = (0..<2).map { end in
                        Frames.Frame(action: .init(end: end, kind: 2, extra: Int(setting & 3)), packet: [setting & 7, setting * 8, 1])
                    }
                    return Frames(settings: setting * 8, sends + [pass] + sends + [pass, pass]).octets()
                }
                + Seeds.written(["0500|0100", "01 00 04 00 01|02", "FFFF0400 01|01000400 02"], Frames.Action(end: 1, extra: 2))
        },
        run: { input in
            let frames = Frames(input)
            let loop = RunLoop()
            try loop.run {
                let table = DataTable(loop, frames.settings)
                for frame in frames.list { try await table.take(frame) }
                try await table.check()
            }
        })
}

private final class DataTable {
    private let link: BareLink
    private let buffers: ACLBuffers
    private var activities: [Activity<Void>] = []
    /// Data received on channels without another user.
    private var arrived: [[UInt8]] = []
    private var loop: RunLoop { link.loop }
    private static let channels: [UInt16] = [0x0006, 0x0040, 0x007F]

    /// - Parameter choice: buffer size and number of buffers.
    init(_ loop: RunLoop, _ choice: UInt8) {
        buffers = ACLBuffers(
            fragmentLength: [27, 5, 12, 23, 31, 251, 255, 1_021][Int(choice >> 3 & 7)], total: [1, 2, 8, 64][Int(choice >> 6)])
        link = BareLink(on: loop, buffers: buffers)
        for end in link.ends {
            for channel in Self.channels {
                end.multiplexer.channel(channel).user = { [unowned self] in arrived.append($0.octets) }
            }
        }
    }

    func take(_ frame: Frames.Frame) async throws {
        let end = frame.action.end
        switch frame.action.kind {
        case 0:
            let boundary = ACLHeader.Boundary(rawValue: frame.action.extra) ?? .first
            link.arrive(BareLink.Letter(destination: end, boundary: boundary, octets: frame.packet))
        case 1: try signal(frame.packet, at: end)
        case 2: happens(frame.packet, at: end, frame.action.extra)
        default: deliver(frame)
        }
        try await loop.sleep(for: frame.action.pause)
        try checkQueues()
    }

    /// A signalling packet gets at most one response, and a response gets none.
    private func signal(_ command: [UInt8], at end: Int) throws {
        let before = link.sent + link.ends[end].multiplexer.queuedFragments
        link.arrive(command, on: CID.leSignaling, at: end)
        let answers = link.sent + link.ends[end].multiplexer.queuedFragments - before
        let most = (LESignaling.mtu + L2CAPHeader.octets + buffers.fragmentLength - 1) / buffers.fragmentLength
        try promise(answers <= most, "\(answers) fragments for one signalling packet")
    }

    private func happens(_ what: [UInt8], at end: Int, _ extra: UInt8) {
        let (end, first) = (link.ends[end], what.first ?? 0)
        let channel = end.multiplexer.channel(Self.channels[Int(extra) % Self.channels.count])
        let length = what.dropFirst().reduce(0) { $0 << 8 | Int($1) } & 0x3FF
        switch first & 7 {
        case 0, 1, 2: _ = channel.trySend([UInt8](repeating: first, count: length))
        case 3:
            activities.append(
                loop.start {
                    let request = ConnectionParameterRequest(interval: UInt16(length), latency: UInt16(first))
                    for _ in 0..<3 { try? await end.signaling.requestParameters(request) }
                })
        case 4: end.context.scheduler.completed(handle: UInt16(length), count: Int(first))
        case 5: end.multiplexer.sendFragment(boundary: .init(rawValue: extra) ?? .first, what)
        case 6: activities.append(loop.start { try await channel.send([UInt8](repeating: 1, count: length)) })
        default: end.signaling.grants = { _ in extra & 1 == 0 }
        }
    }

    private func deliver(_ frame: Frames.Frame) {
        if frame.packet.isEmpty {
            for _ in 0...8 * frame.action.extra { link.deliver() }
        } else {
            link.deliver { letter in
                letter.boundary = ACLHeader.Boundary(rawValue: frame.action.extra) ?? .first
                letter.octets = frame.packet
            }
        }
    }

    private func checkQueues() throws {
        for end in link.ends {
            try promise(end.multiplexer.fragmentsInController <= buffers.total, "more packets than buffers")
            for channel in Self.channels.map(end.multiplexer.channel) {
                try promise(channel.queuedFragments <= 64 + 0x400, "\(channel.queuedFragments) fragments wait")
            }
        }
    }

    /// Checks that all data sent from now on arrives, and that every procedure ends with the link.
    func check() async throws {
        try await link.settle()
        for end in link.ends {
            arrived.removeAll()
            let payload = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
            try promise(end.multiplexer.channel(Self.channels[0]).trySend(payload), "there is no room for a PDU")
            try await link.settle()
            try promise(arrived == [payload], "one PDU was sent, \(arrived.count) arrived")
        }
        link.close()
        try await loop.sleep(for: .zero)
        try promise(activities.allSatisfy(\.isOver), "a procedure goes on without a link")
    }
}
