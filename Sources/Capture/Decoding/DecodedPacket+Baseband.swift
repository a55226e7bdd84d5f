import BBPackets

extension BasebandFrame {
    /// Data of an ACL packet: its logical link and its octets without payload header and CRC. Core Vol 2, Part B, 6.6.2.
    struct LogicalLinkData {
        /// 1: a continuation of L2CAP, 2: the start of an L2CAP PDU, 3: LMP.
        var llid: UInt8
        var range: Range<Int>
    }

    /// The data, if it is in clear and complete.
    var logicalLinkData: LogicalLinkData? {
        guard transport == .acl || transport == .any, flags.isSuperset(of: [.hecChecked, .decrypted]), let first = payload.first else {
            return nil
        }
        let type = packetHeader >> 3 & 15
        let isBasic = modulation == .basicRate
        // DM1 is a packet of basic rate also on a link with EDR. Core Vol 2, Part B, 6.5.4.
        guard type == 3 || (isBasic ? [4, 9, 10, 11, 14, 15] : [4, 8, 10, 11, 14, 15]).contains(type) else { return nil }
        let isShort = type == 3 || isBasic && (type == 4 || type == 9)
        guard isShort || payload.count > 1 else { return nil }
        let word = isShort ? Int(first) : Int(first) | Int(payload[1]) << 8
        let start = isShort ? 1 : 2
        let end = start + (word >> 3 & (isShort ? 0x1F : 0x3FF))
        guard end <= payload.count else { return nil }
        return LogicalLinkData(llid: first & 3, range: start..<end)
    }
}

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
