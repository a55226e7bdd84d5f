import BBL2CAP
import BBPackets
import BBTraffic

/// L2CAP channels opened by signalling on a connection, with their protocols. Core Vol 3, Part A, 4.
struct OpenChannels {
    private var channels = LinkChannels()

    mutating func note(_ command: SignalingCommand, _ direction: LinkDirection) { channels.note(command, direction) }

    /// A PDU of a channel whose identifier is no fixed one.
    mutating func decode(_ identifier: UInt16, _ bytes: [UInt8], _ payload: Range<Int>, _ direction: LinkDirection) -> DecodedLayer {
        guard let channel = channels.channel(identifier, direction) else { return Self.octets(identifier, "", bytes, payload) }
        guard channel.isCreditBased else { return layer(identifier, channel, bytes, payload) }
        let (outcome, isFirst) = channels.take(bytes.span.bytes.extracting(payload), on: identifier, direction)
        let start = isFirst ? min(payload.lowerBound + KFrameReassembly.lengthOctets, payload.upperBound) : payload.lowerBound
        let data = start..<payload.upperBound
        return switch outcome {
        case .sdu where isFirst: layer(identifier, channel, bytes, data)
        case .sdu(let sdu): layer(identifier, channel, sdu, 0..<sdu.count)
        case .fault(.noLength): Self.octets(identifier, " without an SDU length", bytes, payload)
        case .part, .fault(.tooLong), .fault(.lengthExceeded): Self.octets(identifier, " part of an SDU", bytes, data)
        }
    }

    private func layer(_ identifier: UInt16, _ channel: ChannelTracker.Channel, _ bytes: [UInt8], _ range: Range<Int>) -> DecodedLayer {
        let layer = channel.isCreditBased ? (channel.psm == PSM.eatt || channel.psm == PSM.att ? .att : nil) : Layer(psm: channel.psm)
        if let pdu = layer?.decode(sdu: bytes, range) { return pdu }
        let psm = Self.psm?.text(.integer(Int128(channel.psm))) ?? Hex.number(channel.psm, bits: 16)
        return Self.octets(identifier, channel.isCreditBased ? " SPSM \(Hex.number(channel.psm, bits: 16))" : " \(psm)", bytes, range)
    }

    private static let psm = PDUCatalog.declaration(L2CAPSignaling.ConnectionReq.id)?.field(named: "PSM")

    private static func octets(_ identifier: UInt16, _ what: String, _ bytes: [UInt8], _ range: Range<Int>) -> DecodedLayer {
        let text = "L2CAP \(Hex.number(identifier, bits: 16))\(what) \(range.count) octets"
        let summary = TextBuffer.text {
            $0.write(text)
            guard !range.isEmpty else { return }
            $0.write(": ")
            $0.write(octets: bytes[range])
        }
        return DecodedLayer(named: text, of: .l2cap, bytes, range, summary: summary)
    }
}
