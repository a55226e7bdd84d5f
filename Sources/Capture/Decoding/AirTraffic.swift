import BBL2CAP
import BBPackets

/// Decodes transmissions on the air: advertising and the links created by connection requests.
struct AirTraffic {
    static let advertisingAccessAddress: UInt32 = 0x8E89_BED6

    private var links: [UInt32: LinkTraffic] = [:]
    /// The last PDU on an auxiliary channel was AUX_SCAN_REQ.
    private var isScanRequested = false

    private static let mostLinks = 1_024
    private let showsNames: Bool

    init(names: Bool) { showsNames = names }

    mutating func decode(_ frame: AirFrame) -> DecodedPacket {
        let isCoded = frame.modulation == .leCoded
        let start = 4 + (isCoded ? 1 : 0)
        guard frame.bytes.count >= start + 2 + 3 else {
            return .summary(radio(frame, isBroken: false, nil) + " too short: \(Hex.octets(frame.bytes))", frame.bytes)
        }
        let isBroken = frame.flags.contains(.crcChecked) && !frame.flags.contains(.crcValid)
        let pdu = start..<frame.bytes.count - 3
        let accessAddress = frame.bytes[..<4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let isOfLink = frame.channel.isOfLink(accessAddress)
        let radio = radio(frame, isBroken: isBroken, isOfLink ? accessAddress : nil)
        var layers = [DecodedLayer(named: radio, of: .air, frame.bytes, 0..<start, summary: radio)]
        switch frame.channel {
        case _ where isOfLink:
            let way: LinkDirection = frame.channel == .advertising ? .unknown : frame.channel == .dataFromCentral ? .forth : .back
            if links[accessAddress] == nil, links.count >= Self.mostLinks { links.removeAll() }
            links[accessAddress, default: LinkTraffic(names: showsNames)].decode(frame, pdu, way, isBroken: isBroken, to: &layers)
        case .advertising where frame.channelIndex.map { $0 >= 37 } ?? true:
            layers.append(DecodedLayer(advertising: frame.bytes, pdu, secondary: false))
        case .auxiliaryAdvertising, .advertising: layers.append(auxiliary(frame.bytes, pdu, accessAddress))
        default:
            let text = "isochronous \(pdu.count - 2) octets"
            layers.append(DecodedLayer(named: text, of: .llIsochronous, frame.bytes, pdu, summary: text))
        }
        if !isBroken { note(layers) }
        return DecodedPacket(layers: layers)
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
            case .leCoded: text.write(frame.bytes.dropFirst(4).first == 1 ? "S2" : "S8")
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
    private func auxiliary(_ bytes: [UInt8], _ pdu: Range<Int>, _ accessAddress: UInt32) -> DecodedLayer {
        var layer = DecodedLayer(advertising: bytes, pdu, secondary: true)
        guard layer.code == 7 else { return layer }
        if accessAddress != Self.advertisingAccessAddress {
            layer.name = "AUX_SYNC_IND"
        } else if isScanRequested, layer.fields.named("AdvA") != nil {
            layer.name = "AUX_SCAN_RSP"
        } else if layer.name == "AUX_SYNC_IND" {
            layer.name = "AUX_CHAIN_IND"
        }
        return layer
    }

    private mutating func note(_ layers: [DecodedLayer]) {
        guard let layer = layers.last, layer.layer == .advertising else { return }
        isScanRequested = layer.name == "AUX_SCAN_REQ"
        if let accessAddress = layer.accessAddressOfLink { links[accessAddress] = LinkTraffic(names: showsNames) }
    }
}

extension AirFrame.Channel {
    /// True for a data channel, and for one of unknown kind with the access address of a link.
    fileprivate func isOfLink(_ accessAddress: UInt32) -> Bool {
        switch self {
        case .dataFromCentral, .dataFromPeripheral: true
        case .advertising: accessAddress != AirTraffic.advertisingAccessAddress
        default: false
        }
    }
}

extension DecodedLayer {
    /// Access address of the link created by CONNECT_IND or AUX_CONNECT_REQ. Core Vol 6, Part B, 2.3.3.
    var accessAddressOfLink: UInt32? {
        guard name == "CONNECT_IND" || name == "AUX_CONNECT_REQ",
            let accessAddress = fields.named("LLData")?.children.named("AA")?.integer
        else { return nil }
        return UInt32(truncatingIfNeeded: accessAddress)
    }
}

/// Decodes the data channel PDUs of one link. Core Vol 6, Part B, 2.4. Decryption keys would belong here.
private struct LinkTraffic {
    private enum Encryption {
        case off
        /// LL_START_ENC_REQ was received: later PDUs are encrypted, or were decrypted by the capturing tool.
        case starting
        case on
        case removed
    }

    private var connection: ConnectionTraffic
    private var encryption = Encryption.off
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

    mutating func decode(
        _ frame: AirFrame, _ pdu: Range<Int>, _ way: LinkDirection, isBroken: Bool, to layers: inout [DecodedLayer]
    ) {
        let bytes = frame.bytes
        let header = bytes[pdu.lowerBound]
        let sequenceNumber = header >> 3 & 1
        let words = Self.headers[way == .forth ? 0 : way == .back ? 1 : 2][Int(header >> 2 & 7)]
        layers.append(
            DecodedLayer(named: words.name, of: .linkLayerHeaders, bytes, pdu.lowerBound..<pdu.lowerBound + 2, summary: words.summary))
        // The header has a third octet if a constant tone extension follows.
        let start = pdu.lowerBound + (header >> 5 & 1 == 1 && pdu.count > 2 ? 3 : 2)
        let payload = start..<max(start, pdu.upperBound)
        let isRepeated = isRepeated(sequenceNumber, way, isBroken: isBroken)
        if !payload.isEmpty, isEncrypted(header, bytes, payload, frame.flags) {
            let text = DecodedLayer.encrypted + " \(payload.count) octets"
            return layers.append(DecodedLayer(named: text, of: .llData, bytes, payload, summary: text))
        }
        if header & 3 == 3 {
            let control = DecodedLayer(layer: .llControl, bytes, payload)
            if !isBroken { note(control) }
            return layers.append(control)
        }
        let below = layers.count
        if isBroken || isRepeated || payload.isEmpty || header & 3 == 0 {
            layers += again(header, bytes, payload, isBroken)
        } else {
            connection.receive(header & 3 == 2 ? .first : .continuing, bytes, payload, way, to: &layers)
        }
        guard layers.count == below else { return }
        let text =
            switch header & 3 {
            case 2: "start \(payload.count) octets"
            case 1: payload.isEmpty ? "empty" : "continued \(payload.count) octets"
            default: "LLID \(header & 3) \(payload.count) octets"
            }
        layers.append(DecodedLayer(named: text, of: .llData, bytes, payload, summary: text))
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
    private func again(_ header: UInt8, _ bytes: [UInt8], _ payload: Range<Int>, _ isBroken: Bool) -> [DecodedLayer] {
        guard !isBroken, header & 3 == 2 else { return [] }
        var copy = connection
        var layers: [DecodedLayer] = []
        copy.receive(.first, bytes, payload, .unknown, to: &layers)
        return layers.filter { $0.layer != .l2capFragment }
    }

    private mutating func note(_ control: DecodedLayer) {
        switch control.name {
        case "LL_START_ENC_REQ": encryption = .starting
        case "LL_PAUSE_ENC_RSP": encryption = .off
        default: break
        }
    }

    /// True if the PDU is encrypted in the capture. If the first LL_START_ENC_RSP has no MIC, the capturing tool has decrypted the link.
    private mutating func isEncrypted(_ header: UInt8, _ bytes: [UInt8], _ payload: Range<Int>, _ flags: AirFrame.Flags) -> Bool {
        if flags.contains(.decrypted) { return false }
        switch encryption {
        case .off, .removed: return false
        case .on: return true
        case .starting:
            if header & 3 == 3, bytes[payload.lowerBound] == 0x05, payload.count == 1 { return false }
            let isClear = header & 3 == 3 && payload.count == 1 && bytes[payload.lowerBound] == 0x06
            encryption = isClear ? .removed : .on
            return !isClear
        }
    }
}

extension DecodedLayer {
    fileprivate static let encrypted = "encrypted"

    /// True for data of a link that the capture has only encrypted.
    public var isEncrypted: Bool { layer == .llData && name.hasPrefix(Self.encrypted) }
}
