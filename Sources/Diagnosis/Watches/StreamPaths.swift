import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// The isochronous streams and voice connections of a controller: their directions, their data paths and their ends.
/// Core Vol 4, Part E, 7.7.65.25, 7.7.65.27, 7.7.65.29 and 7.8.109.
struct StreamPaths {
    enum Kind: String {
        case connected = "CIS"
        case broadcast = "BIS"
        case voice = "SCO"
    }

    private struct Stream {
        var kind: Kind
        /// The connection that it belongs to.
        var owner: UInt16?
        /// Why the stream has no data in a direction, by Data_Path_Direction.
        var unused: [Int: String] = [:]
        var paths: Set<Int> = []
        /// Packets of voice in each direction.
        var counts = (out: 0, incoming: 0)
        var isReported = false
    }

    private var streams: [UInt16: Stream] = [:]
    /// The connections of streams that were asked for, and whether the local device is their central.
    private var asked: [UInt16: (owner: UInt16, isCentral: Bool)] = [:]
    private var path: (stream: UInt16, direction: Int, sent: Moment)?

    private static let most = 128
    /// LE_Create_CIS and LE_Remove_ISO_Data_Path.
    private static let (createStreams, removePath): (UInt16, UInt16) = (0x2064, 0x206F)
    /// LE_CIS_Request, LE_Create_BIG_Complete and LE_BIG_Sync_Established.
    private static let (request, groupCreated, groupSynchronized): (UInt8, UInt8, UInt8) = (0x1A, 0x1B, 0x1D)
    private static let (input, output) = (0, 1)
    /// 300 packets take more than two seconds.
    private static let enough = 300

    // MARK: Commands

    mutating func sent(_ command: HCIPacket, at now: Moment) {
        let parameters = Array(command.parameters)
        func number(at offset: Int) -> UInt16 {
            parameters.count >= offset + 2 ? (UInt16(parameters[offset]) | UInt16(parameters[offset + 1]) << 8) & 0x0FFF : 0
        }
        switch command.commandOpcode {
        case HCICommands.Reset.opcode: self = StreamPaths()
        case Self.createStreams:
            if asked.count >= Self.most { asked = [:] }
            for index in 0..<Int(parameters.first ?? 0) where parameters.count >= 5 + 4 * index {
                asked[number(at: 1 + 4 * index)] = (number(at: 3 + 4 * index), true)
            }
        case HCICommands.LESetupISODataPath.opcode where parameters.count >= 3:
            path = (number(at: 0), Int(parameters[2]), now)
        case Self.removePath where parameters.count >= 3:
            for direction in [Self.input, Self.output] where parameters[2] & 1 << direction != 0 {
                streams[number(at: 0)]?.paths.remove(direction)
            }
        default: break
        }
    }

    // MARK: Events

    /// - Returns: the reason why a data path was refused, or the end of a stream with the connection that it belongs to.
    mutating func received(_ event: HCIPacket) -> (Observation, owner: UInt16?)? {
        switch event.id {
        case HCIEvents.CommandComplete.id: return answered(event).map { ($0, nil) }
        case HCIEvents.DisconnectionComplete.id: return ended(event)
        case HCIEvents.LECISEstablished.id, HCIEvents.LECISEstablishedV2.id: established(DecodedLayer(hci: event))
        case HCIEvents.SynchronousConnectionComplete.id:
            guard let pdu = try? event.event(as: HCIEvents.SynchronousConnectionComplete.self), pdu.status == .success else { return nil }
            add(pdu.connectionHandle.rawValue, Stream(kind: .voice))
        default: noteOther(event)
        }
        return nil
    }

    private mutating func noteOther(_ event: HCIPacket) {
        switch event.leSubevent {
        case Self.request:
            let octets = Array(event.bytes.dropFirst(event.kind.headerLength + 1))
            guard octets.count >= 4 else { return }
            if asked.count >= Self.most { asked = [:] }
            asked[Self.handle(octets[2...])] = (Self.handle(octets[...]), false)
        case Self.groupCreated: noteGroup(DecodedLayer(hci: event), unused: [Self.output: "a broadcaster has no output of data"])
        case Self.groupSynchronized:
            noteGroup(DecodedLayer(hci: event), unused: [Self.input: "a receiver of a broadcast has no input of data"])
        default: break
        }
    }

    private static func handle(_ octets: ArraySlice<UInt8>) -> UInt16 {
        (UInt16(octets[octets.startIndex]) | UInt16(octets[octets.startIndex + 1]) << 8) & 0x0FFF
    }

    private mutating func add(_ handle: UInt16, _ stream: Stream) {
        if streams.count >= Self.most { streams = [:] }
        streams[handle] = stream
    }

    private mutating func established(_ pdu: DecodedLayer) {
        guard pdu.fields.named("Status")?.int == 0, let number = pdu.fields.named("Connection_Handle")?.int else { return }
        let handle = UInt16(truncatingIfNeeded: number)
        var stream = Stream(kind: .connected, owner: asked[handle]?.owner)
        if let isCentral = asked[handle]?.isCentral {
            for (field, isOut) in [("BN_C_To_P", isCentral), ("BN_P_To_C", !isCentral)] where pdu.fields.named(field)?.int == 0 {
                stream.unused[isOut ? Self.input : Self.output] = "the stream has no data in this direction (\(field) is 0)"
            }
        }
        add(handle, stream)
    }

    private mutating func noteGroup(_ pdu: DecodedLayer, unused: [Int: String]) {
        guard pdu.fields.named("Status")?.int == 0 else { return }
        for row in pdu.fields.last(where: \.isList)?.children ?? [] {
            guard let handle = (row.int ?? row.children.first?.int).flatMap({ UInt16(exactly: $0) }) else { continue }
            add(handle, Stream(kind: .broadcast, unused: unused))
        }
    }

    private mutating func answered(_ event: HCIPacket) -> Observation? {
        guard let (handle, direction, sent) = path, let answer = (try? CommandAnswer(event: event)) ?? nil,
            answer.opcode == HCICommands.LESetupISODataPath.opcode
        else { return nil }
        path = nil
        guard answer.status != .success else {
            streams[handle]?.paths.insert(direction)
            return nil
        }
        let stream = streams[handle]
        guard
            let problem = stream?.unused[direction]
                ?? (stream?.paths.contains(direction) == true ? "it has one in this direction already" : nil)
        else { return nil }
        return Observation(
            .pathRefused,
            [
                ("Direction", .text(direction == Self.input ? "input" : "output")), ("Stream", .text(Hex.number(handle))),
                ("Problem", .text(problem)),
            ], packet: sent.packet)
    }

    // MARK: Ends

    /// The kind of the connection that an event ends.
    func kind(of event: HCIPacket) -> Kind? {
        guard event.eventCode == HCIEvents.DisconnectionComplete.code, !streams.isEmpty else { return nil }
        return event.connectionHandle.flatMap { streams[$0.rawValue]?.kind }
    }

    private func ended(_ event: HCIPacket) -> (Observation, owner: UInt16?)? {
        guard let pdu = try? event.event(as: HCIEvents.DisconnectionComplete.self), pdu.status == .success,
            let stream = streams[pdu.connectionHandle.rawValue]
        else { return nil }
        let fields: [(String, CaseValue)] = [
            ("Kind", .text(stream.kind.rawValue)), ("Stream", .text(Hex.number(pdu.connectionHandle.rawValue))),
            ("Reason", .text(pdu.reason.words)),
        ]
        return (Observation(.streamEnded, fields), stream.owner)
    }

    /// Forgets a stream after its end.
    mutating func forget(_ event: HCIPacket) {
        guard !streams.isEmpty, event.eventCode == HCIEvents.DisconnectionComplete.code, let handle = event.connectionHandle else { return }
        streams[handle.rawValue] = nil
    }

    // MARK: Voice

    /// Counts a packet of voice. Concludes that only the host sends.
    mutating func count(_ packet: HCIPacket, isOut: Bool) -> Observation? {
        guard packet.bytes.count >= packet.kind.headerLength else { return nil }
        let handle = Self.handle(packet.bytes[(packet.kind.headerLength - 3)...])
        guard let stream = streams[handle], !stream.isReported else { return nil }
        if !isOut {
            streams[handle]?.counts.incoming += 1
            return nil
        }
        streams[handle]?.counts.out += 1
        guard stream.counts.out >= Self.enough, stream.counts.incoming == 0 else { return nil }
        streams[handle]?.isReported = true
        return Observation(.voiceSilent, [("Sent", .number(stream.counts.out))])
    }
}
