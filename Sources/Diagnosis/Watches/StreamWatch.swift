import BBCases
import BBPackets
import BBTraffic

/// The stream end points of both ends of a link, and what a configuration makes of them. AVDTP 1.3, 8; A2DP 1.4, 4.
struct StreamWatch {
    private struct EndPoint: Hashable {
        var end: PacketSender
        var number: Int
    }

    /// True for a sink.
    private var kinds: [EndPoint: Bool] = [:]
    /// The codec that an end point offers: media type, codec, then its bits.
    private var offers: [EndPoint: [UInt8]] = [:]
    /// The end point whose capabilities each end asks for.
    private var asked: [PacketSender: EndPoint] = [:]

    private static let most = 128
    /// Categories of services, and the octets that they have. AVDTP 1.3, 8.21.
    private static let (transport, reporting, recovery, codec, delay): (Int, Int, Int, Int, Int) = (1, 2, 3, 7, 8)
    private static let lengths = [transport: 0, reporting: 0, recovery: 3, delay: 0]
    private static let (discovered, capabilities, allCapabilities) = (0x0201, 0x0202, 0x020C)
    private static let (getCapabilities, getAllCapabilities, setConfiguration) = (0x0002, 0x000C, 0x0003)
    private static let audio: UInt8 = 0

    mutating func note(_ pdu: DecodedLayer, from sender: PacketSender) -> Observation? {
        if kinds.count + offers.count > Self.most { self = StreamWatch() }
        switch pdu.code {
        case Self.discovered:
            for row in pdu.fields.named("Stream_End_Points")?.children ?? [] {
                guard let number = row.children.named("SEID")?.int, let kind = row.children.named("TSEP")?.int else { continue }
                kinds[EndPoint(end: sender, number: number)] = kind == 1
            }
        case Self.getCapabilities, Self.getAllCapabilities:
            asked[sender] = pdu.fields.named("ACP_SEID")?.int.map { EndPoint(end: sender.other, number: $0) }
        case Self.capabilities, Self.allCapabilities:
            guard let point = asked.removeValue(forKey: sender.other) else { return nil }
            offers[point] = Self.services(pdu).first { $0.category == Self.codec }?.octets
        case Self.setConfiguration:
            return problem(pdu, from: sender).map { Observation(.streamMisconfigured, [("PDU", .text(pdu.name)), ("Problem", .text($0))]) }
        default: break
        }
        return nil
    }

    private static func services(_ pdu: DecodedLayer) -> [(category: Int, octets: [UInt8])] {
        (pdu.fields.named("Service_Capabilities")?.children ?? []).compactMap { row in
            guard let category = row.children.named("Service_Category")?.int else { return nil }
            return (category, row.children.named("Capability")?.octets ?? [])
        }
    }

    private func problem(_ pdu: DecodedLayer, from sender: PacketSender) -> String? {
        guard let acceptor = pdu.fields.named("ACP_SEID")?.int, let initiator = pdu.fields.named("INT_SEID")?.int else { return nil }
        let point = EndPoint(end: sender.other, number: acceptor)
        if let other = kinds[point], let own = kinds[EndPoint(end: sender, number: initiator)], other == own {
            let kind = own ? "sink" : "source"
            return "joins a \(kind), SEID \(initiator), with a \(kind), SEID \(acceptor)"
        }
        for service in Self.services(pdu) {
            if let length = Self.lengths[service.category], length != service.octets.count {
                let name = PDUCatalog.type(named: "AVDTPService")?.name(of: service.category) ?? "\(service.category)"
                return "has \(service.octets.count) octets of \(name) instead of \(length)"
            }
            guard service.category == Self.codec else { continue }
            if let element = CodecElement.first(notSingleIn: service.octets) { return "does not select exactly one \(element)" }
            if let offer = offers[point], let element = CodecElement.first(in: service.octets, notIn: offer) {
                return "selects a \(element) that SEID \(acceptor) does not offer"
            }
        }
        return nil
    }
}

/// The elements of a codec of which a configuration selects one value. A2DP 1.4, 4.3.2, 4.4.2 and 4.5.2.
private struct CodecElement {
    var name: String
    /// The bits in the octets after the type of the codec.
    var mask: [UInt8]

    private static let elements: [UInt8: [CodecElement]] = [
        0: [
            CodecElement(name: "sampling frequency", mask: [0xF0]), CodecElement(name: "channel mode", mask: [0x0F]),
            CodecElement(name: "block length", mask: [0, 0xF0]), CodecElement(name: "number of subbands", mask: [0, 0x0C]),
            CodecElement(name: "allocation method", mask: [0, 0x03]),
        ],
        1: [
            CodecElement(name: "layer", mask: [0xE0]), CodecElement(name: "channel mode", mask: [0x0F]),
            CodecElement(name: "sampling frequency", mask: [0, 0x3F]),
        ],
        2: [
            CodecElement(name: "object type", mask: [0xFE]), CodecElement(name: "sampling frequency", mask: [0, 0xFF, 0xF0]),
            CodecElement(name: "number of channels", mask: [0, 0, 0x0F]),
        ],
    ]

    private func bits(_ octets: ArraySlice<UInt8>) -> [UInt8] { zip(octets, mask).map { $0 & $1 } }

    private static func parts(_ octets: [UInt8]) -> (elements: [CodecElement], values: ArraySlice<UInt8>)? {
        guard octets.count > 2, octets[0] == 0, let elements = elements[octets[1]] else { return nil }
        let values = octets.dropFirst(2)
        return (elements.filter { $0.mask.count <= values.count }, values)
    }

    static func first(notSingleIn octets: [UInt8]) -> String? {
        guard let (elements, values) = parts(octets) else { return nil }
        return elements.first { $0.bits(values).reduce(0) { $0 + $1.nonzeroBitCount } != 1 }?.name
    }

    static func first(in octets: [UInt8], notIn offer: [UInt8]) -> String? {
        guard let (elements, values) = parts(octets), let offered = parts(offer), octets[1] == offer[1] else { return nil }
        return elements.first { element in
            zip(element.bits(values), element.bits(offered.values)).contains { $0 & ~$1 != 0 }
        }?.name
    }
}
