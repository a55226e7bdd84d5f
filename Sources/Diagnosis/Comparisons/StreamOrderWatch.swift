import BBCases
import BBL2CAP
import BBPackets
import BBTraffic

/// Streams that are configured before the one before them has ended, on one link. AVDTP 1.3, 6.
struct StreamOrderWatch {
    /// A channel of AVDTP: the end that asked for it, and the channel identifiers of both ends.
    private struct Channel: Equatable {
        var asker: PacketSender
        var own: UInt16
        var other: UInt16 = 0
    }

    private struct EndPoint: Hashable {
        var end: PacketSender
        var number: Int
    }

    /// A command that is not answered yet.
    private struct Command {
        var code: Int
        var point: EndPoint
        var at: Moment
        /// The request to disconnect a channel that was open then.
        var disconnecting: Moment?
    }

    private var asked: [UInt16: Channel] = [:]
    private var channels: [Channel] = []
    private var disconnecting: [(channel: Channel, at: Moment)] = []
    private var commands: [PacketSender: Command] = [:]
    private var configured: [EndPoint: Moment] = [:]

    private static let most = 64
    private static let psm: UInt16 = 0x0019
    private static let (setConfiguration, close, abort) = (0x0003, 0x0008, 0x000A)
    private static let (accepts, rejects) = (0x0200, 0x0300)
    private static let inUse = 0x13

    // MARK: Channels

    mutating func note(signal pdu: DecodedLayer, from sender: PacketSender, at now: Moment) {
        if asked.count + channels.count > Self.most { (asked, channels, disconnecting) = ([:], [], []) }
        if let request = pdu.content(as: L2CAPSignaling.ConnectionReq.self) {
            if request.psm == Self.psm { asked[request.sourceCID] = Channel(asker: sender, own: request.sourceCID) }
        } else if let response = pdu.content(as: L2CAPSignaling.ConnectionRsp.self) {
            guard response.result != .pending, var channel = asked[response.sourceCID], channel.asker != sender else { return }
            asked[response.sourceCID] = nil
            channel.other = response.destinationCID
            if response.result == .successful { channels.append(channel) }
        } else if let request = pdu.content(as: L2CAPSignaling.DisconnectionReq.self) {
            guard let channel = channel(of: sender, request.sourceCID, request.destinationCID) else { return }
            disconnecting.append((channel, now))
        } else if let response = pdu.content(as: L2CAPSignaling.DisconnectionRsp.self) {
            guard let channel = channel(of: sender, response.destinationCID, response.sourceCID) else { return }
            disconnecting.removeAll { $0.channel == channel }
            channels.removeAll { $0 == channel }
        }
    }

    /// The channel with these identifiers at an end and at the other one.
    private func channel(of end: PacketSender, _ own: UInt16, _ other: UInt16) -> Channel? {
        channels.first { $0.asker == end ? $0.own == own && $0.other == other : $0.own == other && $0.other == own }
    }

    // MARK: Streams

    mutating func note(stream pdu: DecodedLayer, from sender: PacketSender, at now: Moment) -> Observation? {
        let command = pdu.code & 0xFF
        guard [Self.setConfiguration, Self.close, Self.abort].contains(command) else { return nil }
        switch pdu.code - command {
        case 0:
            guard let number = pdu.fields.named("ACP_SEID")?.int else { return nil }
            commands[sender] = Command(
                code: command, point: EndPoint(end: sender.other, number: number), at: now, disconnecting: disconnecting.first?.at)
        case Self.accepts:
            guard let asked = commands.removeValue(forKey: sender.other), asked.code == command else { return nil }
            configured[asked.point] = command == Self.setConfiguration ? asked.at : nil
        case Self.rejects:
            guard let asked = commands.removeValue(forKey: sender.other), asked.code == Self.setConfiguration,
                pdu.fields.named("Error_Code")?.int == Self.inUse
            else { return nil }
            let reason: String
            if let before = asked.disconnecting {
                reason = "before the channel of the stream before it was disconnected, which #\(before.packet) asks for"
            } else if let since = configured[asked.point] {
                reason = "although it was configured in #\(since.packet) and not closed since"
            } else {
                return nil
            }
            return Observation(
                .streamStillOpen, [("End_Point", .number(asked.point.number)), ("Reason", .text(reason))], packet: asked.at.packet)
        default: break
        }
        return nil
    }
}
