import BBCases
import BBL2CAP
import BBPackets
import BBTraffic

/// The dynamic channels of the links of one end, those of LE included.
struct DynamicChannels {
    /// Channels of each link, by connection handle.
    private var links: [UInt16: LinkChannels] = [:]

    /// The signalling PDU of a BR/EDR link that a data packet holds whole.
    static func signalling(in packet: HCIPacket) -> [UInt8]? {
        let octets = packet.bytes.dropFirst(ACLHeader.octets)
        guard let header = L2CAPHeader(Array(octets.prefix(L2CAPHeader.octets)).span.bytes), header.channel == CID.signaling,
            octets.count == L2CAPHeader.octets + Int(header.length)
        else { return nil }
        return Array(octets.dropFirst(L2CAPHeader.octets))
    }

    /// The response of a side with these features to a request for them. Core Vol 3, Part A, 4.11.
    static func information(_ features: UInt32, for command: SignalingCommand) -> [UInt8]? {
        guard command.code == L2CAPSignaling.InformationReq.opcode,
            let request = command.read(prefixOf: L2CAPSignaling.InformationReq.self)
        else { return nil }
        let isKnown = request.infoType == InformationType.extendedFeatures
        var response = L2CAPSignaling.InformationRsp(infoType: request.infoType, result: isKnown ? 0 : 1)
        if isKnown { response.info = (0..<4).map { UInt8(truncatingIfNeeded: features >> (8 * $0)) } }
        return response.bytes(identifier: command.identifier)
    }

    /// The parts of a received L2CAP PDU for the log: each command of a signalling PDU, an ATT PDU of an enhanced bearer, messages of RFCOMM.
    mutating func received(_ payload: [UInt8], on cid: UInt16, of handle: UInt16, isClassic: Bool) -> [Part] {
        if cid == (isClassic ? CID.signaling : CID.leSignaling) { note(payload, .back, on: handle) }
        if isClassic, cid == CID.signaling {
            return SignalingCommand.ranges(payload, in: payload.indices).map { Part(.signalling, Array(payload[$0])) }
        }
        if !isClassic, isEnhancedBearer(cid, .back, on: handle),
            case .sdu(let pdu) = links[handle]?.take(payload.span.bytes, on: cid, .back).outcome
        {
            return [Part(ChannelContent(.att, on: cid), pdu)]
        }
        let content = isClassic && cid >= L2CAPFrame.usualChannel ? content(of: cid, on: handle) : ChannelContent(channel: cid)
        let messages = content.layer == .rfcommFrames ? RFCOMMFrames.messages(in: payload) : []
        return [Part(content, payload)]
            + messages.map { Part(content: ChannelContent(.rfcomm, on: cid), name: PDUCodec.name(ofMessage: $0), octets: $0) }
    }

    /// A PDU of an upper layer.
    struct Part {
        var content: ChannelContent
        var name: String
        var octets: [UInt8]

        init(content: ChannelContent, name: String, octets: [UInt8]) { (self.content, self.name, self.octets) = (content, name, octets) }

        init(_ content: ChannelContent, _ octets: [UInt8]) {
            self.init(content: content, name: PDUCodec.name(of: octets, in: content), octets: octets)
        }
    }

    /// The content of frames that arrive on a channel.
    private func content(of channel: UInt16, on handle: UInt16) -> ChannelContent {
        guard let known = links[handle]?.channel(channel, .back) else { return ChannelContent(channel: channel) }
        if known.isRetransmitting {
            return ChannelContent(.l2cap, on: channel, hasCheck: known.hasCheck, isExtended: known.isExtended)
        }
        return ChannelContent(Layer(psm: known.psm) ?? .l2cap, on: channel)
    }

    /// True for a channel of LE in enhanced credit-based flow control mode to EATT. Core Vol 3, Part G, 5.3.
    func isEnhancedBearer(_ channel: UInt16, _ direction: LinkDirection, on handle: UInt16) -> Bool {
        links[handle]?.channel(channel, direction).map { $0.isCreditBased && $0.psm == PSM.eatt } ?? false
    }

    /// An ATT PDU as one K-frame with the length of its SDU. Core Vol 3, Part A, 3.4.3; Part G, 5.3.2.
    static func bearerFrame(_ pdu: [UInt8]) -> [UInt8] { [UInt8(pdu.count & 0xFF), UInt8(pdu.count >> 8 & 0xFF)] + pdu }

    /// True if frames to the channel end in a check sequence.
    func hasCheck(remote channel: UInt16, on handle: UInt16) -> Bool { links[handle]?.channel(channel, .forth)?.hasCheck ?? true }

    /// True if I-frames and S-frames to the channel have the extended control field.
    func isExtended(remote channel: UInt16, on handle: UInt16) -> Bool { links[handle]?.channel(channel, .forth)?.isExtended ?? false }

    /// Follows the channels that the commands of a signalling PDU open, change and close.
    mutating func note(_ pdu: [UInt8], _ direction: LinkDirection, on handle: UInt16) {
        for command in SignalingCommand.list(pdu).commands { links[handle, default: LinkChannels()].note(command, direction) }
    }

    mutating func forget(_ handle: UInt16) { links[handle] = nil }

    mutating func forgetAll() { self = DynamicChannels() }
}
