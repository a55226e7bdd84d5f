import BBPackets
import BBTraffic

extension DecodedPacket {
    /// A BR/EDR transmission with its LMP message, or with the L2CAP header in it.
    init(_ frame: BasebandFrame) {
        let octets = frame.payload
        let data = frame.logicalLinkData
        var line = frame.summary
        switch data?.llid {
        case 1: line += ", continuation of L2CAP"
        case 2:
            let pdu = Array(octets[data?.range ?? 0..<0])
            if let header = L2CAPHeader(pdu.span.bytes) {
                line += ", L2CAP PDU of \(header.length) octets on CID \(Hex.number(header.channel))"
            } else {
                line += ", start of L2CAP"
            }
        default: break
        }
        self.init(layers: [DecodedLayer(named: line, of: .baseband, octets, 0..<octets.count, summary: line)])
        if let data, data.llid == 3, !data.range.isEmpty { layers.append(DecodedLayer(layer: .lmp, octets, data.range)) }
    }
}
