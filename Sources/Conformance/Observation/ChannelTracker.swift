import Capture
import Packets

/// The connection-oriented channels of BR/EDR links, followed from the signalling on one side. Core Vol 3, Part A, 4 and 7.1.
struct ChannelTracker {
    /// The direction of a command.
    enum Way: Hashable {
        case sent
        case received

        var other: Way { self == .sent ? .received : .sent }
    }

    /// The agreed terms of one direction.
    private struct Terms {
        var mode = 0
        var hasCheck = true
    }

    private struct Channel {
        var psm: Int
        var remote: UInt16 = 0
        var agreed: [Way: Terms] = [:]

        /// True if both directions use enhanced retransmission or streaming mode.
        var isRetransmitting: Bool { agreed.count == 2 && agreed.values.allSatisfy { $0.mode >= 3 } }
        var hasCheck: Bool { agreed.isEmpty || agreed.values.contains { $0.hasCheck } }
    }

    private struct Key: Hashable {
        var handle: UInt16
        var channel: UInt16
    }

    private struct Request: Hashable {
        var handle: UInt16
        var way: Way
        var identifier: UInt16
    }

    /// The channels by the CIDs of this side.
    private var channels: [Key: Channel] = [:]
    private var asked: [Request: Int] = [:]
    private var proposed: [Request: (channel: UInt16, terms: Terms)] = [:]

    /// The signalling channel of a BR/EDR link. Core Vol 3, Part A, 2.1.
    static let signalling: UInt16 = 0x0001

    /// Returns the commands of a PDU of that channel, which may contain several. Core Vol 3, Part A, 4.
    static func commands(in pdu: [UInt8]) -> [[UInt8]] {
        var commands: [[UInt8]] = []
        var rest = pdu[...]
        while rest.count >= 4 {
            let length = 4 + Int(rest[rest.startIndex + 2]) + Int(rest[rest.startIndex + 3]) << 8
            commands.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return commands
    }

    /// Returns the PDU of that channel if a data packet contains all of it.
    static func signalling(in packet: HCIPacket) -> [UInt8]? {
        let octets = packet.bytes.dropFirst(ACLHeader.octets)
        guard let header = L2CAPHeader(Array(octets.prefix(L2CAPHeader.octets)).span.bytes), header.channel == signalling,
            octets.count == L2CAPHeader.octets + Int(header.length)
        else { return nil }
        return Array(octets.dropFirst(L2CAPHeader.octets))
    }

    /// Returns the answer of a side with these features to an information request. Core Vol 3, Part A, 4.11.
    static func information(_ features: UInt32, for command: [UInt8]) -> [UInt8]? {
        let pdu = DecodedLayer(layer: .l2capSignaling, command, 0..<command.count)
        guard pdu.name == L2CAPSignaling.InformationReq.name, let type = pdu.fields.named("InfoType")?.int,
            let identifier = command.dropFirst().first
        else { return nil }
        var response = L2CAPSignaling.InformationRsp(infoType: UInt16(truncatingIfNeeded: type), result: type == 2 ? 0 : 1)
        if type == 2 { response.info = (0..<4).map { UInt8(truncatingIfNeeded: features >> (8 * $0)) } }
        return response.bytes(identifier: identifier)
    }

    // MARK: Channels

    /// What a frame that came is named after.
    func content(of channel: UInt16, on handle: UInt16) -> ChannelContent {
        guard let known = channels[Key(handle: handle, channel: channel)] else { return ChannelContent(channel: channel) }
        if known.isRetransmitting { return ChannelContent(.l2cap, on: channel, hasCheck: known.hasCheck) }
        return ChannelContent(UInt16(exactly: known.psm).flatMap { Layer(psm: $0) } ?? .l2cap, on: channel)
    }

    /// Returns true if frames to the channel end with an FCS.
    func hasCheck(remote channel: UInt16, on handle: UInt16) -> Bool {
        channels.first { $0.key.handle == handle && $0.value.remote == channel }?.value.hasCheck ?? true
    }

    mutating func forget(_ handle: UInt16) {
        channels = channels.filter { $0.key.handle != handle }
        asked = asked.filter { $0.key.handle != handle }
        proposed = proposed.filter { $0.key.handle != handle }
    }

    mutating func forgetAll() { self = ChannelTracker() }

    // MARK: Channels

    /// - Parameter command: the command with its header.
    mutating func note(_ command: [UInt8], _ way: Way, on handle: UInt16) {
        let pdu = DecodedLayer(layer: .l2capSignaling, command, 0..<command.count)
        guard let identifier = pdu.identifier else { return }
        func field(_ name: String) -> Int { pdu.fields.named(name)?.int ?? 0 }
        func cid(_ name: String) -> UInt16 { UInt16(truncatingIfNeeded: field(name)) }
        let request = Request(handle: handle, way: way, identifier: identifier)
        let answered = Request(handle: handle, way: way.other, identifier: identifier)
        switch pdu.name {
        case L2CAPSignaling.ConnectionReq.name: asked[request] = field("PSM")
        case L2CAPSignaling.ConnectionRsp.name:
            guard let psm = asked[answered], field("Result") == 0 else { return }
            let (mine, theirs) = way == .sent ? ("Destination_CID", "Source_CID") : ("Source_CID", "Destination_CID")
            channels[Key(handle: handle, channel: cid(mine))] = Channel(psm: psm, remote: cid(theirs))
        case L2CAPSignaling.ConfigurationReq.name:
            let options = pdu.fields.named("Configuration_Options")?.octets ?? []
            guard let local = local(cid("Destination_CID"), way, handle), let known = channels[Key(handle: handle, channel: local)] else {
                return
            }
            proposed[request] = (local, Self.terms(options, before: known.agreed[way] ?? Terms()))
        case L2CAPSignaling.ConfigurationRsp.name:
            guard let (channel, terms) = proposed.removeValue(forKey: answered), field("Result") == 0 else { return }
            channels[Key(handle: handle, channel: channel)]?.agreed[answered.way] = terms
        case L2CAPSignaling.DisconnectionRsp.name:
            channels[Key(handle: handle, channel: cid(way == .sent ? "Destination_CID" : "Source_CID"))] = nil
        default: break
        }
    }

    /// Returns the CID on this side of the channel that a request addresses.
    private func local(_ destination: UInt16, _ way: Way, _ handle: UInt16) -> UInt16? {
        if way == .received { return destination }
        return channels.first { $0.key.handle == handle && $0.value.remote == destination }?.key.channel
    }

    /// Returns the terms after options 4 and 5, the mode and the FCS; omitted options keep their values. Core Vol 3, Part A, 5.4 and 5.5.
    private static func terms(_ options: [UInt8], before: Terms) -> Terms {
        var terms = before
        var rest = options[...]
        while rest.count > 2 {
            let (type, length) = (rest[rest.startIndex] & 0x7F, Int(rest[rest.startIndex + 1]))
            if type == 4 { terms.mode = Int(rest[rest.startIndex + 2]) }
            if type == 5 { terms.hasCheck = rest[rest.startIndex + 2] != 0 }
            rest = rest.dropFirst(2 + length)
        }
        return terms
    }
}
