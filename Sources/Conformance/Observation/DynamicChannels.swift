import L2CAP
import Packets

/// The dynamic channels of the links of one end, those of LE included.
struct DynamicChannels {
    /// Channels of each link, by connection handle.
    private var links: [UInt16: ChannelTracker] = [:]
    private var frames = EnhancedBearerFrames()

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

    /// The content of frames that arrive on a channel.
    func content(of channel: UInt16, on handle: UInt16) -> ChannelContent {
        guard let known = links[handle]?.channel(channel, .back) else { return ChannelContent(channel: channel) }
        if known.isRetransmitting { return ChannelContent(.l2cap, on: channel, hasCheck: known.hasCheck) }
        return ChannelContent(Layer(psm: known.psm) ?? .l2cap, on: channel)
    }

    /// True for a channel of LE in enhanced credit-based flow control mode to EATT. Core Vol 3, Part G, 5.3.
    func isEnhancedBearer(_ channel: UInt16, _ direction: LinkDirection, on handle: UInt16) -> Bool {
        links[handle]?.channel(channel, direction).map { $0.isCreditBased && $0.psm == PSM.eatt } ?? false
    }

    /// The ATT PDU that a received frame completes on an Enhanced ATT bearer; nil for a part of one, and on other channels.
    mutating func bearerPDU(_ frame: [UInt8], on channel: UInt16, of handle: UInt16) -> [UInt8]? {
        isEnhancedBearer(channel, .back, on: handle) ? frames.take(frame, channel, on: handle) : nil
    }

    /// True if frames to the channel end in a check sequence.
    func hasCheck(remote channel: UInt16, on handle: UInt16) -> Bool { links[handle]?.channel(channel, .forth)?.hasCheck ?? true }

    mutating func note(_ command: SignalingCommand, _ direction: LinkDirection, on handle: UInt16) {
        links[handle, default: ChannelTracker()].note(command, direction)
    }

    mutating func forget(_ handle: UInt16) {
        links[handle] = nil
        frames.forget(handle)
    }

    mutating func forgetAll() { self = DynamicChannels() }
}
