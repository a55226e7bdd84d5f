import HCI
import L2CAP
import Packets

/// Decodes the traffic of one connection above the link layer: reassembled L2CAP PDUs and the protocols on its channels.
///
/// Keeps the state that depends on earlier packets of the connection, such as channels opened by signalling and names of attributes.
struct ConnectionTraffic {
    /// Nil if handles are shown without names.
    private(set) var names: AttributeNames?
    private var reassemblers: [LinkDirection: L2CAPReassembler] = [:]
    private var channels = OpenChannels()

    init(names: AttributeNames? = nil) { self.names = names }

    /// The layers of the PDU that a fragment completes; empty if it is incomplete.
    ///
    /// - Parameter fragment: range of the fragment in the packet.
    mutating func receive(_ boundary: ACLHeader.Boundary, _ bytes: [UInt8], _ fragment: Range<Int>, _ way: LinkDirection) -> [DecodedLayer]
    {
        var reassembler = reassemblers.removeValue(forKey: way) ?? L2CAPReassembler()
        defer { reassemblers[way] = reassembler }
        let abandoned = reassembler.abandoned
        let action = reassembler.receive(boundary: boundary, bytes.span.bytes.extracting(fragment))
        var layers: [DecodedLayer] = []
        if reassembler.abandoned > abandoned { layers.append(Self.broken("a PDU before it was not finished", bytes, fragment)) }
        switch action {
        case .wait: break
        case .deliverFragment(let channel): layers += pdu(channel, bytes, fragment, way)
        case .deliverAssembled(let channel):
            let whole = reassembler.assembled
            layers += pdu(channel, whole, 0..<whole.count, way)
        case .drop(let fault): layers.append(Self.broken(fault.rawValue, bytes, fragment))
        }
        return layers
    }

    /// True if no PDU of that direction is incomplete.
    func isBetweenPDUs(_ way: LinkDirection) -> Bool { reassemblers[way]?.isBetweenPDUs ?? true }

    /// True if a packet contains a complete PDU of a channel whose decoding does not depend on earlier packets.
    func isWholePDU(ofFixedChannel data: RawSpan) -> Bool {
        guard let header = L2CAPHeader(data), Int(header.length) + L2CAPHeader.octets == data.byteCount else { return false }
        guard header.channel == CID.att, names != nil, data.byteCount > L2CAPHeader.octets else {
            return header.channel == CID.att || header.channel == CID.smp
        }
        return !AttributeNames.isDiscovery(data.unsafeLoad(fromByteOffset: L2CAPHeader.octets, as: UInt8.self))
    }

    private static func broken(_ reason: String, _ bytes: [UInt8], _ range: Range<Int>) -> DecodedLayer {
        DecodedLayer(named: "L2CAP: \(reason)", of: .l2capFragment, bytes, range, summary: "L2CAP: \(reason)")
    }

    /// Names of the fixed channels, which carry most PDUs.
    private static let names = Dictionary(
        uniqueKeysWithValues: (UInt16(1)...7).map { ($0, "L2CAP channel \(Hex.number($0, bits: 16))") })

    /// Decodes a complete PDU by its channel. Core Vol 3, Part A, 2.1.
    private mutating func pdu(_ channel: UInt16, _ bytes: [UInt8], _ range: Range<Int>, _ way: LinkDirection) -> [DecodedLayer] {
        let payload = (range.lowerBound + L2CAPHeader.octets)..<range.upperBound
        let header = DecodedLayer(
            named: Self.names[channel] ?? "L2CAP channel \(Hex.number(channel, bits: 16))", of: .l2cap, bytes,
            range.lowerBound..<payload.lowerBound, summary: "")
        switch Layer(channel: channel) {
        case .l2capSignaling:
            for command in SignalingCommand.list(Array(bytes[payload])).commands { channels.note(command, way) }
            return [header] + Self.signalling(bytes, payload)
        case .att:
            var pdu = DecodedLayer(layer: .att, bytes, payload)
            names?.name(&pdu, way)
            return [header, pdu]
        case let layer?: return [header, DecodedLayer(layer: layer, bytes, payload)]
        case nil: return [header, channels.decode(channel, bytes, payload, way)]
        }
    }

    /// Decodes a PDU of the signalling channel, which may contain several commands on BR/EDR.
    static func signalling(_ bytes: [UInt8], _ payload: Range<Int>) -> [DecodedLayer] {
        let ranges = SignalingCommand.ranges(bytes, in: payload)
        var layers = ranges.prefix(64).map { DecodedLayer(layer: .l2capSignaling, bytes, $0) }
        let start = ranges.prefix(64).last?.upperBound ?? payload.lowerBound
        if start < payload.upperBound || layers.isEmpty {
            let text = "L2CAP signalling, too short: \(Hex.octets(bytes[start..<payload.upperBound]))"
            layers.append(DecodedLayer(named: text, of: .l2capSignaling, bytes, start..<payload.upperBound, summary: text))
        }
        return layers
    }
}
