import BBHCI
import BBPackets
import BBTiming

@testable import BBHost

extension FuzzTarget {
    private static let attributeLayer: LayerOfAction = { $0.kind == 2 ? nil : .att }

    /// The attribute protocol without a stack around it. With an even first octet, both ends are client and server: procedures of every
    /// kind, with PDUs changed, lost or inserted in transit; each procedure ends, and both servers respond afterwards. With an odd first
    /// octet, PDUs are sent to a server on a link with any security.
    static let attributes = FuzzTarget(
        name: "att", layer: attributeLayer,
        seeds: {
            let pass = Frames.Frame(action: .init(end: 0, kind: 1, extra: 3), packet: [])
            let procedures = (UInt8(0)..<AttributeTable.procedures).map { procedure in
                let begin = (UInt8(0)..<3).map {
                    Frames.Frame(action: .init(end: 0, kind: 2, extra: Int($0)), packet: [procedure, 12 + $0, 30, 0, 1, 2, 3])
                }
                return Frames(settings: 0, begin + [pass, pass, pass, pass]).octets()
            }
            return Seeds.declared(attributeLayer, count: 48) + procedures
        },
        run: { input in
            let frames = Frames(input)
            guard frames.settings & 1 == 0 else { return try AttributeTable.serve(frames) }
            let loop = RunLoop()
            try loop.run {
                let table = AttributeTable(loop)
                for frame in frames.list { try await table.take(frame) }
                try await table.check()
            }
        })
}

private final class AttributeTable {
    static let procedures: UInt8 = 16
    private let link: BareLink
    private var activities: [Activity<Void>] = []
    private var loop: RunLoop { link.loop }

    init(_ loop: RunLoop) { link = BareLink(on: loop, buffers: ACLBuffers(fragmentLength: 1_000, total: 64)) }

    func take(_ frame: Frames.Frame) async throws {
        let sent = link.sent
        switch frame.action.kind {
        case 0: link.arrive(frame.packet, on: CID.att, at: frame.action.end)
        case 1: for _ in 0...4 * frame.action.extra { try await deliver([]) }
        case 2: begin(frame.packet, at: frame.action.end)
        default: try await deliver(frame.packet)
        }
        try await pause(frame.action.pause)
        if frame.action.kind == 0 { try promise(link.sent <= sent + 2, "\(link.sent - sent) PDUs for one") }
    }

    private func deliver(_ other: [UInt8]) async throws {
        link.deliver { letter in
            guard !other.isEmpty else { return }
            letter.octets = [UInt8(other.count & 0xFF), UInt8(other.count >> 8)] + letter.octets.dropFirst(2).prefix(2) + other
        }
        try await pause(.zero)
    }

    /// Lets procedures continue; without a procedure and a pause, nothing would happen.
    private func pause(_ time: Microseconds) async throws {
        if time > .zero || !activities.isEmpty { try await loop.sleep(for: time) }
    }

    private func begin(_ what: [UInt8], at end: Int) {
        let bearer = link.ends[end].bearer
        activities.append(loop.start { try await Self.procedure(what, bearer) })
    }

    private static func procedure(_ what: [UInt8], _ bearer: ATTBearer) async throws {
        let client = GATTClient(bearer)
        let rest = [UInt8](what.dropFirst())
        let handle = UInt16(rest.first ?? 0)
        let value = [UInt8](rest.dropFirst())
        switch what.first.map({ $0 % procedures }) ?? 0 {
        case 0: try await client.exchangeMTU(rest.count > 1 ? Int(rest[1]) << 3 : 517)
        case 1: _ = try await client.readLong(handle)
        case 2: _ = try await client.read(uuid: BluetoothUUID(UInt16(rest.last ?? 3) | 0x2800), from: handle)
        case 3: _ = try await client.readMultipleVariable(rest.map(UInt16.init))
        case 4: _ = try await client.readMultiple(rest.map(UInt16.init))
        case 5: try await client.write(handle, value)
        case 6: try await client.writeLong(handle, [UInt8](repeating: 7, count: Int(rest.last ?? 0)))
        case 7: try await client.reliableWrite([(handle, value), (handle, value)])
        case 8: try await client.enableCaching(of: try await client.discoverDatabase())
        case 9: for service in try await client.discoverServices(isPrimary: false) { _ = try await included(in: service, client) }
        case 10: for service in try await client.discoverServices() { _ = try await included(in: service, client) }
        case 11: for service in try await client.discoverServices(uuid: 0xFFF0) { _ = try await included(in: service, client) }
        case 12: try await subscribe(handle, client)
        case 13: try await bearer.indicate(handle, value)
        case 14: _ = bearer.trySend(opcode: ATT.HandleValueNtf.opcode, attribute: handle, value.span.bytes)
        default: _ = try await client.request(rest)
        }
    }

    private static func included(in service: RemoteService, _ client: GATTClient) async throws -> [RemoteService] {
        try await client.discoverIncludedServices(in: service)
    }

    private static func subscribe(_ handle: UInt16, _ client: GATTClient) async throws {
        let characteristic = RemoteCharacteristic(uuid: 0x2A19, properties: .notify, declaration: handle, value: handle, endHandle: 0xFFFF)
        try await client.subscribe(characteristic) { _, _, _ in }
    }

    /// Checks that both servers respond, and that every procedure ends with the link.
    func check() async throws {
        try await link.settle()
        for end in 0..<2 {
            link.arrive(ATT.ReadReq(attributeHandle: 3).bytes, on: CID.att, at: end)
            let answer = link.mail.last.map { Array($0.octets.dropFirst(L2CAPHeader.octets)) }
            try promise(answer == [ATT.ReadRsp.opcode] + BareLink.deviceName, "the name is \(Hex.octets(answer ?? []))")
        }
        link.close()
        try await loop.sleep(for: .zero)
        try promise(activities.allSatisfy(\.isOver), "a procedure goes on without a link")
    }

    // MARK: A server alone

    static func serve(_ frames: Frames) throws {
        let database = BareLink.database()
        database.authorizes = { $0.handle & 1 == 0 ? .granted : .refused }
        let server = ATTServer(client: GATTServerSession(client: PeerIdentity(RawWorld.address(0)), database: database))
        for frame in frames.list where !frame.packet.isEmpty {
            let levels: [LinkSecurity] = [.none, .encrypted, .authenticated, .secureConnections]
            let access = AttributeAccess(
                security: levels[Int(frame.action.extra)], keySize: frame.action.kind < 2 ? 16 : 7, isBonded: frame.action.end == 1)
            let answer = server.receive(frame.packet.span.bytes, from: access)
            try check(answer, to: frame.packet[0], mtu: server.mtu)
        }
    }

    private static func check(_ answer: [UInt8]?, to opcode: UInt8, mtu: Int) throws {
        guard let answer else { return try promise(opcode & 0x40 != 0, "a request without an answer") }
        try promise(opcode & 0x40 == 0, "a command is answered")
        try promise(answer.count <= mtu, "\(answer.count) octets, ATT_MTU is \(mtu)")
        let isError = answer.first == ATT.ErrorRsp.opcode
        try promise(isError ? answer[1] == opcode : answer[0] == opcode &+ 1, "\(Hex.octets(answer)) for opcode \(opcode)")
    }
}
