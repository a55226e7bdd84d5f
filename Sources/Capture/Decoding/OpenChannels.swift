import Packets

/// L2CAP channels opened by signalling on a connection, with their protocols. Core Vol 3, Part A, 4.
struct OpenChannels {
    private struct Channel {
        var psm: Int
        /// PDUs are K-frames of SDUs. Core Vol 3, Part A, 3.4.3.
        var isCreditBased: Bool
        var sdu: [UInt8] = []
        var missing = 0
    }

    /// Direction of the PDUs, and the destination channel identifier in them.
    private struct Key: Hashable {
        var way: Way
        var identifier: Int
    }

    private struct Request: Hashable {
        var way: Way
        var identifier: UInt16
    }

    private var channels: [Key: Channel] = [:]
    /// Channels requested, until the response arrives.
    private var asked: [Request: Channel] = [:]

    private static let most = 256

    mutating func note(_ command: DecodedLayer, _ way: Way) {
        guard let declaration = command.declaration, let identifier = command.identifier else { return }
        let fields = command.fields
        switch declaration.name {
        case "L2CAP_CONNECTION_REQ", "L2CAP_LE_CREDIT_BASED_CONNECTION_REQ", "L2CAP_CREDIT_BASED_CONNECTION_REQ":
            guard let psm = (fields.named("PSM") ?? fields.named("SPSM"))?.int else { return }
            let channel = Channel(psm: psm, isCreditBased: declaration.name != "L2CAP_CONNECTION_REQ")
            if asked.count >= Self.most { asked.removeAll() }
            asked[Request(way: way, identifier: identifier)] = channel
            open(fields.named("Source_CID"), channel, way.other)
        case "L2CAP_CONNECTION_RSP", "L2CAP_LE_CREDIT_BASED_CONNECTION_RSP", "L2CAP_CREDIT_BASED_CONNECTION_RSP":
            guard let channel = asked[Request(way: way.other, identifier: identifier)] else { return }
            open(fields.named("Destination_CID"), channel, way.other)
        case "L2CAP_DISCONNECTION_RSP":
            for (name, way) in [("Destination_CID", way.other), ("Source_CID", way)] {
                if let identifier = fields.named(name)?.int { channels[Key(way: way, identifier: identifier)] = nil }
            }
        default: break
        }
    }

    private mutating func open(_ field: DecodedField?, _ channel: Channel, _ way: Way) {
        for identifier in field?.int.map({ [$0] }) ?? field?.children.compactMap(\.int) ?? [] where identifier >= 0x0040 {
            if channels.count >= Self.most { channels.removeAll() }
            channels[Key(way: way, identifier: identifier)] = channel
        }
    }

    /// Decodes a PDU of a dynamic channel.
    mutating func decode(_ identifier: UInt16, _ bytes: [UInt8], _ payload: Range<Int>, _ way: Way) -> DecodedLayer {
        let key = Key(way: way, identifier: Int(identifier))
        guard let channel = channels[key] else { return Self.octets(identifier, "", bytes, payload) }
        guard channel.isCreditBased else { return layer(identifier, channel, bytes, payload) }
        return segment(key, identifier, bytes, payload)
    }

    private mutating func segment(_ key: Key, _ identifier: UInt16, _ bytes: [UInt8], _ payload: Range<Int>) -> DecodedLayer {
        guard var channel = channels[key] else { return Self.octets(identifier, "", bytes, payload) }
        defer { channels[key] = channel }
        var data = payload
        if channel.missing == 0 {
            guard payload.count >= 2 else { return Self.octets(identifier, " without an SDU length", bytes, payload) }
            channel.missing = Int(bytes[payload.lowerBound]) | Int(bytes[payload.lowerBound + 1]) << 8
            channel.sdu = []
            data = payload.lowerBound + 2..<payload.upperBound
            if data.count == channel.missing {
                channel.missing = 0
                return layer(identifier, channel, bytes, data)
            }
        }
        channel.sdu += bytes[data]
        channel.missing -= data.count
        guard channel.missing == 0 else {
            if channel.missing < 0 { channel.missing = 0 }
            return Self.octets(identifier, " part of an SDU", bytes, data)
        }
        return layer(identifier, channel, channel.sdu, 0..<channel.sdu.count)
    }

    private func layer(_ identifier: UInt16, _ channel: Channel, _ bytes: [UInt8], _ range: Range<Int>) -> DecodedLayer {
        if channel.psm == 0x001F || (channel.isCreditBased && channel.psm == 0x0027) { return DecodedLayer(layer: .att, bytes, range) }
        if !channel.isCreditBased, let layer = UInt16(exactly: channel.psm).flatMap({ Layer(psm: $0) }),
            let pdu = layer.decode(sdu: bytes, range)
        {
            return pdu
        }
        let psm = Self.psm?.text(.integer(Int128(channel.psm))) ?? Hex.number(channel.psm, bits: 16)
        return Self.octets(identifier, channel.isCreditBased ? " SPSM \(Hex.number(channel.psm, bits: 16))" : " \(psm)", bytes, range)
    }

    private static let psm = PDUCatalog.declaration(layer: .l2capSignaling, name: "L2CAP_CONNECTION_REQ")?.field(named: "PSM")

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
