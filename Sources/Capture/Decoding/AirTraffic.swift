import BBL2CAP
import BBPackets
import BBTraffic

/// Decodes transmissions on the air: advertising and the links created by connection requests.
struct AirTraffic {
    private var links: [UInt32: LinkTraffic] = [:]
    /// The last PDU on an auxiliary channel was AUX_SCAN_REQ.
    private var isScanRequested = false

    private static let mostLinks = 1_024
    private let showsNames: Bool

    init(names: Bool) { showsNames = names }

    mutating func decode(_ frame: AirFrame) -> DecodedPacket {
        guard let pdu = frame.pdu else {
            return .summary(radio(frame, isBroken: false, nil) + " too short: \(Hex.octets(frame.bytes))", frame.bytes)
        }
        let accessAddress = pdu.accessAddress
        let radio = radio(frame, isBroken: frame.isBroken, pdu.kind == .data ? accessAddress : nil)
        var packet = DecodedPacket(
            layers: [DecodedLayer(named: radio, of: .air, frame.bytes, 0..<pdu.range.lowerBound, summary: radio)])
        switch pdu.kind {
        case .data:
            if links[accessAddress] == nil, links.count >= Self.mostLinks { links.removeAll() }
            links[accessAddress, default: LinkTraffic(names: showsNames)].decode(frame, pdu, to: &packet)
        case .advertising: packet.layers.append(DecodedLayer(advertising: frame.bytes, pdu.range, secondary: false))
        case .auxiliary: packet.layers.append(auxiliary(frame.bytes, pdu))
        case .isochronous:
            let text = "isochronous \(pdu.range.count - 2) octets"
            packet.layers.append(DecodedLayer(named: text, of: .llIsochronous, frame.bytes, pdu.range, summary: text))
        }
        if !frame.isBroken { note(packet.layers, pdu, in: frame) }
        return packet
    }

    /// Radio parameters of a frame as text.
    private func radio(_ frame: AirFrame, isBroken: Bool, _ accessAddress: UInt32?) -> String {
        TextBuffer.text { text in
            if let channel = frame.channelIndex {
                text.write("channel ")
                text.write(decimal: Int(channel))
                text.writeSpace()
            }
            switch frame.modulation {
            case .leCoded: text.write(frame.isS2 == true ? "S2" : "S8")
            case .le2M: text.write("2M")
            case .le1M: text.write("1M")
            }
            if isBroken { text.write(" bad CRC") }
            guard let accessAddress else { return }
            text.writeSpace()
            text.write(hex: UInt64(accessAddress), bits: 32)
        }
    }

    /// Decodes a PDU whose type is ambiguous by its access address and the PDUs before it. Core Vol 6, Part B, 2.3.4.
    private func auxiliary(_ bytes: [UInt8], _ pdu: AirFrame.PDU) -> DecodedLayer {
        var layer = DecodedLayer(advertising: bytes, pdu.range, secondary: true)
        guard layer.code == 7 else { return layer }
        if pdu.accessAddress != AirFrame.advertisingAccessAddress {
            layer.name = "AUX_SYNC_IND"
        } else if isScanRequested, layer.fields.named("AdvA") != nil {
            layer.name = "AUX_SCAN_RSP"
        } else if layer.name == "AUX_SYNC_IND" {
            layer.name = "AUX_CHAIN_IND"
        }
        return layer
    }

    private mutating func note(_ layers: [DecodedLayer], _ pdu: AirFrame.PDU, in frame: AirFrame) {
        guard let layer = layers.last, layer.layer == .advertising else { return }
        isScanRequested = layer.name == "AUX_SCAN_REQ"
        if let request = frame.connectRequest(pdu) { open(request.llData.aa) }
    }

    private mutating func open(_ accessAddress: UInt32) {
        if links[accessAddress] == nil, links.count >= Self.mostLinks { links.removeAll() }
        links[accessAddress] = LinkTraffic(names: showsNames)
    }
}

/// Decodes the data channel PDUs of one link. Core Vol 6, Part B, 2.4.
private struct LinkTraffic {
    private var connection: ConnectionTraffic
    private var encryption = EncryptionOnAir()
    /// Sequence numbers of the last PDU in each direction; the same number again is a retransmission.
    private var sequenceNumbers = (forth: UInt8?.none, back: UInt8?.none)

    /// Text for each header, by direction and header bits 2...4.
    private static let headers: [[(name: String, summary: String)]] = ["C>P ", "P>C ", ""].map { sender in
        (0..<8).map { bits in
            let flags = "\(sender)SN=\(bits >> 1 & 1) NESN=\(bits & 1) MD=\(bits >> 2)"
            return ("LL data " + flags, flags)
        }
    }

    init(names: Bool) { connection = ConnectionTraffic(names: names ? AttributeNames() : nil) }

    mutating func decode(_ frame: AirFrame, _ pdu: AirFrame.PDU, to packet: inout DecodedPacket) {
        let (bytes, way, isBroken) = (frame.bytes, pdu.direction, frame.isBroken)
        let header = pdu.range.lowerBound..<pdu.range.lowerBound + 2
        let words = Self.headers[way == .forth ? 0 : way == .back ? 1 : 2][Int(pdu.header >> 2 & 7)]
        packet.layers.append(DecodedLayer(named: words.name, of: .linkLayerHeaders, bytes, header, summary: words.summary))
        let payload = pdu.payload
        let isRepeated = isRepeated(pdu.sequenceNumber, way, isBroken: isBroken)
        packet.isEncrypted = encryption.isEncrypted(pdu, in: frame)
        if packet.isEncrypted {
            let text = "encrypted \(payload.count) octets"
            return packet.layers.append(DecodedLayer(named: text, of: .llData, bytes, payload, summary: text))
        }
        if pdu.isControl {
            if !isBroken, let opcode = bytes[payload].first { encryption.note(control: opcode) }
            return packet.layers.append(DecodedLayer(layer: .llControl, bytes, payload))
        }
        let below = packet.layers.count
        if isBroken || isRepeated || payload.isEmpty || pdu.llid == 0 {
            if !isBroken, pdu.isStart { again(bytes, payload, to: &packet) }
        } else {
            connection.receive(pdu.isStart ? .first : .continuing, bytes, payload, way, to: &packet)
        }
        guard packet.layers.count == below else { return }
        let text =
            pdu.isStart
            ? "start \(payload.count) octets"
            : !pdu.isContinuation
                ? "LLID \(pdu.llid) \(payload.count) octets" : payload.isEmpty ? "empty" : "continued \(payload.count) octets"
        packet.layers.append(DecodedLayer(named: text, of: .llData, bytes, payload, summary: text))
    }

    private mutating func isRepeated(_ sequenceNumber: UInt8, _ way: LinkDirection, isBroken: Bool) -> Bool {
        let before = way == .forth ? sequenceNumbers.forth : way == .back ? sequenceNumbers.back : nil
        switch way {
        case .forth where !isBroken: sequenceNumbers.forth = sequenceNumber
        case .back where !isBroken: sequenceNumbers.back = sequenceNumber
        default: break
        }
        return before == sequenceNumber
    }

    /// Decodes a retransmission, which does not change the state.
    private func again(_ bytes: [UInt8], _ payload: Range<Int>, to packet: inout DecodedPacket) {
        var copy = connection
        var again = DecodedPacket()
        copy.receive(.first, bytes, payload, .unknown, to: &again)
        packet.layers += again.layers.filter { $0.layer != .l2capFragment }
        packet.channel = again.channel
    }
}
