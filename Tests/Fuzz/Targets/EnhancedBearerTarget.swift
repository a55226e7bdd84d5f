import BBHCI
import BBPackets
import BBTiming
import BBTransport

@testable import BBHost
@testable import BBTraffic

extension FuzzTarget {
    private static let bearerLayer: LayerOfAction = { [.att, .l2capSignaling, nil, nil][$0.kind] }

    /// Enhanced ATT bearers between two hosts without a controller: bearers are opened, used, reconfigured and closed by either side, while
    /// ATT PDUs, signalling commands and K-frames are inserted, changed and lost. A PDU has one answer at most, there are five bearers at
    /// most, every procedure ends, and nothing is left of a closed bearer.
    static let enhancedBearers = FuzzTarget(
        name: "eatt", layer: bearerLayer,
        seeds: {
            let pass = Frames.Frame(action: .init(end: 0, kind: 3, extra: 3), packet: [0, 40])
            let open = Frames.Frame(action: .init(end: 0, kind: 3), packet: [1, 3])
            let uses = (UInt8(0)..<BearerTable.procedures).map { procedure in
                let begin = (0..<2).map {
                    Frames.Frame(action: .init(end: $0, kind: 3, extra: $0), packet: [2, procedure, 7, 30, 0, 1, 2, 3])
                }
                return Frames([open, pass] + begin + [pass, pass]).octets()
            }
            let changes = (UInt8(3)..<8).map { what in
                let change = Frames.Frame(action: .init(end: 1, kind: 3), packet: [what, 200, 100])
                return Frames([open, pass, change, pass, change, pass]).octets()
            }
            return Seeds.declared(bearerLayer, count: 48) + uses + changes
                + Seeds.written(
                    ["17010c00270064004000030040004100", "17020e00270000014000ff00400041004200", "1901060000014000 4000"],
                    Frames.Action(end: 1, kind: 1))
                + Seeds.written(["03000a0300", "0500 0a03|000000"], Frames.Action(end: 1, kind: 2))
        },
        run: { input in
            let frames = Frames(input)
            let loop = RunLoop()
            try loop.run {
                let table = try BearerTable(loop)
                for frame in frames.list { try await table.take(frame) }
                try await table.check()
            }
        })
}

private final class BearerTable {
    static let procedures: UInt8 = 10

    private final class End {
        let host: Host
        let link: Connection

        init(_ index: Int, _ loop: RunLoop, _ send: @escaping (HCIPacket) -> Void) throws {
            host = Host(loop: loop, transport: InProcessTransport.pair(on: loop).host, database: BareLink.database())
            let context = host.context
            context.scheduler.transmit = send
            context.scheduler.setPools([ACLBuffers(fragmentLength: 1_000, total: 64)])
            context.quirks.bearers.admitsInClear = true
            var settings = EnhancedBearerSettings()
            settings.channel = CreditBasedChannelSettings(mtu: 100, mps: 64, initialCredits: 4)
            host.offerEnhancedBearers(settings)
            let state = ConnectionState(
                BareLink.handle, .le, role: index == 0 ? .central : .peripheral, peer: RawWorld.address(1 - index),
                parameters: ConnectionParameters(interval: 24))
            let slot = context.scheduler.open(handle: BareLink.handle.rawValue, pool: 0)
            guard let link = Connection(state, host: host, slot: slot, ownAddress: nil) else { throw BrokenPromise("no connection") }
            self.link = link
            host.path.add(.le(link), slot: slot)
        }
    }

    private let loop: RunLoop
    private var ends: [End] = []
    /// ACL packets on their way: destination, and octets after the ACL header.
    private var mail: [(destination: Int, octets: [UInt8])] = []
    private var sent = 0
    private var activities: [Activity<Void>] = []

    init(_ loop: RunLoop) throws {
        self.loop = loop
        ends = try (0..<2).map { index in try End(index, loop) { [unowned self] in post($0, from: index) } }
    }

    private func post(_ packet: HCIPacket, from index: Int) {
        sent += 1
        mail.append((1 - index, Array(packet.bytes.dropFirst(ACLHeader.octets))))
    }

    // MARK: Frames

    func take(_ frame: Frames.Frame) async throws {
        let (action, before) = (frame.action, sent)
        let cid = 0x40 + UInt16(action.extra)
        let packet = Array(frame.packet.prefix(500))
        switch action.kind {
        case 0: arrive([UInt8(packet.count & 0xFF), UInt8(packet.count >> 8)] + packet, on: cid, at: action.end)
        case 1: arrive(packet, on: CID.leSignaling, at: action.end)
        case 2: arrive(packet, on: cid, at: action.end)
        default: try await happens(packet, at: action.end, Int(action.extra))
        }
        // An answer in two K-frames, credits, and the end of a channel or of the two that a response concerns.
        if action.kind != 3 { try promise(sent <= before + 12, "\(sent - before) packets for one") }
        if action.pause > .zero || !activities.isEmpty { try await loop.sleep(for: action.pause) }
        for end in ends {
            let count = end.link.enhanced.bearers.count
            try promise(count <= EnhancedBearers.mostAtOnce, "\(count) bearers")
            try promise(end.link.channels.endpoints <= 64, "\(end.link.channels.endpoints) channels")
        }
    }

    private func arrive(_ pdu: [UInt8], on channel: UInt16, at end: Int) {
        var writer = ByteWriter()
        L2CAPHeader(length: UInt16(truncatingIfNeeded: pdu.count), channel: channel).encode(into: &writer)
        writer.bytes(pdu)
        ends[end].link.multiplexer.received(boundary: .first, writer.bytes.span.bytes)
    }

    private func deliver(changed other: [UInt8]? = nil) {
        guard !mail.isEmpty else { return }
        let (destination, octets) = mail.removeFirst()
        let header = [UInt8](octets.dropFirst(2).prefix(2))
        let whole = other.map { [UInt8($0.count & 0xFF), UInt8($0.count >> 8)] + header + $0 } ?? octets
        ends[destination].link.multiplexer.received(boundary: .first, whole.span.bytes)
        ends[1 - destination].host.context.scheduler.completed(handle: BareLink.handle.rawValue, count: 1)
    }

    /// Delivers all packets on their way, including new ones.
    private func settle() async throws {
        var left = 20_000
        repeat {
            while !mail.isEmpty {
                deliver()
                left -= 1
                try promise(left > 0, "there is no end of packets")
            }
            try await loop.sleep(for: .zero)
        } while !mail.isEmpty
    }

    private func happens(_ what: [UInt8], at end: Int, _ extra: Int) async throws {
        let link = ends[end].link
        let rest = [UInt8](what.dropFirst())
        let bearers = link.enhanced.bearers
        let bearer = bearers.isEmpty ? nil : bearers[extra % bearers.count]
        switch what.first.map({ $0 & 7 }) ?? 0 {
        case 0:
            for _ in 0...Int(rest.first ?? 0) & 63 {
                deliver()
                if !activities.isEmpty { try await loop.sleep(for: .zero) }
            }
        case 1: activities.append(loop.start { try await link.openEnhancedBearers(Int(rest.first ?? 0) % 6) })
        case 2: if let bearer { activities.append(loop.start { try await Self.procedure(rest, bearer) }) }
        case 3: bearer?.close()
        case 4:
            guard let channel = bearer?.creditBased else { return }
            let (mtu, mps) = (UInt16(rest.first ?? 100), UInt16(rest.last ?? 64))
            activities.append(loop.start { try await link.reconfigure([channel], mtu: mtu, mps: mps) })
        case 5: deliver(changed: rest)
        case 6: lose()
        default: activities.append(loop.start { _ = try await link.gatt.read(UInt16(rest.first ?? 3)) })
        }
    }

    private func lose() {
        guard let (destination, _) = mail.first else { return }
        mail.removeFirst()
        ends[1 - destination].host.context.scheduler.completed(handle: BareLink.handle.rawValue, count: 1)
    }

    private static func procedure(_ what: [UInt8], _ bearer: ATTBearer) async throws {
        let client = GATTClient(bearer)
        let rest = [UInt8](what.dropFirst())
        let handle = UInt16(rest.first ?? 0)
        let value = [UInt8](rest.dropFirst())
        switch what.first.map({ $0 % procedures }) ?? 0 {
        case 0: _ = try await client.readLong(handle)
        case 1: try await client.write(handle, value)
        case 2: try await client.writeLong(handle, [UInt8](repeating: 7, count: Int(rest.last ?? 0)))
        case 3: _ = try await client.readMultipleVariable(rest.map(UInt16.init))
        case 4: _ = try await client.discoverDatabase()
        case 5: try await bearer.indicate(handle, value)
        case 6: for _ in 0..<8 { _ = bearer.trySend(opcode: ATT.HandleValueNtf.opcode, attribute: handle, value.span.bytes) }
        case 7: for _ in 0..<8 { _ = client.tryWriteCommand(handle, value) }
        case 8: try await client.reliableWrite([(handle, value), (handle, value)])
        default: _ = try await client.request(rest)
        }
    }

    // MARK: Checks

    /// Checks that closed bearers leave nothing, that a new one works, and that every procedure ends with the link.
    func check() async throws {
        // Collided requests are repeated, and the longest time-out is that of a request for channels.
        for _ in 0..<10 {
            try await settle()
            for end in ends { for bearer in end.link.enhanced.bearers { bearer.close() } }
            try await settle()
            if ends.allSatisfy({ $0.link.channels.endpoints == 0 }), activities.allSatisfy(\.isOver) { break }
            try await loop.sleep(for: .seconds(150))
        }
        for end in ends {
            try promise(end.link.enhanced.bearers.isEmpty, "a closed bearer is still there")
            try promise(
                end.link.channels.count == 0 && end.link.channels.endpoints == 0, "\(end.link.channels.endpoints) channels are left")
        }
        let link = ends[0].link
        let fresh = loop.start { try await GATTClient(link.openEnhancedBearers(1)[0].bearer).read(3) }
        for _ in 0..<8 { try await settle() }
        try promise(fresh.isOver, "a new bearer does not answer")
        let name = try await fresh.value()
        try promise(name == BareLink.deviceName, "the name is \(Hex.octets(name))")
        for end in ends { end.host.close() }
        try await loop.sleep(for: .zero)
        try promise(activities.allSatisfy(\.isOver), "a procedure goes on without a link")
    }
}
