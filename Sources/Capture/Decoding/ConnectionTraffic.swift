import BBHCI
import BBL2CAP
import BBPackets

/// Decodes the traffic of one connection above the link layer: reassembled L2CAP PDUs and the protocols on its channels.
///
/// Keeps the state that depends on earlier packets of the connection, such as channels opened by signalling and names of attributes.
struct ConnectionTraffic {
    /// The other end, if its address is known.
    let peer: DeviceAddress?
    /// Nil if handles are shown without names.
    private(set) var names: AttributeNames?
    private var reassemblers = ByDirection(L2CAPReassembler())
    private var channels = OpenChannels()
    /// True in a direction whose last PDU began in a packet that the capturing tool has cut.
    private var isCut = ByDirection(false)

    init(peer: DeviceAddress? = nil, names: AttributeNames? = nil) {
        self.peer = peer
        self.names = names
    }

    /// Adds the layers of the PDU that a fragment completes; none if it is incomplete.
    ///
    /// - Parameter fragment: range of the fragment in the packet.
    mutating func receive(
        _ boundary: ACLHeader.Boundary, _ bytes: [UInt8], _ fragment: Range<Int>, _ way: LinkDirection, to packet: inout DecodedPacket
    ) {
        if boundary == .continuing, isCut[way] {
            packet.layers.append(Self.broken("rest of a PDU that was cut", bytes, fragment))
            return
        }
        isCut[way] = false
        let abandoned = reassemblers[way].abandoned
        let action = reassemblers[way].receive(boundary: boundary, bytes.span.bytes.extracting(fragment))
        if reassemblers[way].abandoned > abandoned {
            packet.layers.append(Self.broken("a PDU before it was not finished", bytes, fragment))
        }
        switch action {
        case .wait: break
        case .deliverFragment(let channel): decode(channel, bytes, fragment, way, to: &packet)
        case .deliverAssembled(let channel):
            let whole = reassemblers[way].assembled
            decode(channel, whole, 0..<whole.count, way, to: &packet)
        case .drop(let fault): packet.layers.append(Self.broken(fault.rawValue, bytes, fragment))
        }
    }

    /// Adds what a capturing tool has left of a fragment: the layers of a PDU that begins in it, as far as they go.
    mutating func receiveCut(
        _ boundary: ACLHeader.Boundary, _ bytes: [UInt8], _ fragment: Range<Int>, _ way: LinkDirection, to packet: inout DecodedPacket
    ) {
        reassemblers[way] = L2CAPReassembler()
        isCut[way] = true
        guard boundary != .continuing, boundary != .complete, let header = L2CAPHeader(bytes.span.bytes.extracting(fragment)),
            fragment.count > L2CAPHeader.octets
        else { return }
        decode(header.channel, bytes, fragment, way, isCut: true, to: &packet)
        for index in packet.layers.indices.dropFirst() { packet.layers[index].problem = nil }
    }

    /// The name of the peer: as its attributes say, or as it advertised.
    func peerName(_ peers: PeerNames?) -> String? { names?.deviceName ?? peer.flatMap { peers?[$0.value] } }

    /// The names in the text of a packet, which besides them depends on its octets alone; nil if it depends on more, because the packet is
    /// not a complete PDU of ATT or SMP. Learns the names that the packet shows.
    mutating func names(inPacket data: RawSpan, _ way: LinkDirection, _ peers: PeerNames?) -> LineNames? {
        guard let header = L2CAPHeader(data), Int(header.length) + L2CAPHeader.octets == data.byteCount, reassemblers[way].isBetweenPDUs,
            header.channel == CID.att || header.channel == CID.smp
        else { return nil }
        guard names != nil else { return LineNames() }
        guard header.channel == CID.att else { return LineNames(peer: peerName(peers)) }
        let pdu = data.extracting(L2CAPHeader.octets...)
        names?.learn(from: pdu, way)
        return LineNames(peer: peerName(peers), attribute: names?.text(pdu, way))
    }

    private static func broken(_ reason: String, _ bytes: [UInt8], _ range: Range<Int>) -> DecodedLayer {
        DecodedLayer(named: "L2CAP: \(reason)", of: .l2capFragment, bytes, range, summary: "L2CAP: \(reason)")
    }

    /// Names of the fixed channels, which carry most PDUs.
    private static let names = Dictionary(
        uniqueKeysWithValues: (UInt16(1)...7).map { ($0, "L2CAP channel \(Hex.number($0, bits: 16))") })

    /// Decodes a complete PDU by its channel. Core Vol 3, Part A, 2.1.
    private mutating func decode(
        _ channel: UInt16, _ bytes: [UInt8], _ range: Range<Int>, _ way: LinkDirection, isCut: Bool = false,
        to packet: inout DecodedPacket
    ) {
        let payload = (range.lowerBound + L2CAPHeader.octets)..<range.upperBound
        packet.channel = channel
        packet.layers.append(
            DecodedLayer(
                named: Self.names[channel] ?? "L2CAP channel \(Hex.number(channel, bits: 16))", of: .l2cap, bytes,
                range.lowerBound..<payload.lowerBound, summary: ""))
        switch Layer(channel: channel) {
        case .l2capSignaling:
            for command in isCut ? [] : SignalingCommand.list(Array(bytes[payload])).commands { channels.note(command, way) }
            packet.layers += Self.signalling(bytes, payload)
        case .att:
            var pdu = DecodedLayer(layer: .att, bytes, payload)
            if !isCut { names?.learn(from: bytes.span.bytes.extracting(payload), way) }
            names?.name(&pdu, way)
            packet.layers.append(pdu)
        case let layer?: packet.layers.append(DecodedLayer(layer: layer, bytes, payload))
        case nil: packet.layers.append(channels.decode(channel, bytes, payload, way))
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
