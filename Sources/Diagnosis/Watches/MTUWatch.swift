import BBCases
import BBPackets
import BBTraffic

/// The MTUs that both ends of a bearer of ATT tell, as clients and as servers. Core Vol 3, Part F, 3.4.2.
struct MTUWatch {
    /// The request of each end, and the answer to it.
    private var asked: [PacketSender: Int] = [:]
    private var answered: [PacketSender: Int] = [:]
    private var told: Set<PacketSender> = []

    private static let least = 23

    mutating func note(_ pdu: DecodedLayer, from sender: PacketSender) -> Observation? {
        switch UInt8(truncatingIfNeeded: pdu.code) {
        case ATT.ExchangeMTUReq.opcode:
            guard let request = pdu.content(as: ATT.ExchangeMTUReq.self) else { return nil }
            // A refused request may be repeated.
            let isAgain = answered[sender.other] != nil
            asked[sender] = Int(request.clientRxMTU)
            return isAgain && told.insert(sender).inserted ? Observation(.mtuAskedTwice, [("From", .text("\(sender)"))]) : nil
        case ATT.ExchangeMTURsp.opcode:
            guard let response = pdu.content(as: ATT.ExchangeMTURsp.self) else { return nil }
            answered[sender] = Int(response.serverRxMTU)
            return difference()
        default: return nil
        }
    }

    /// Each exchange agrees on the lesser value. Two that agree on different ones leave the ends with different MTUs.
    private func difference() -> Observation? {
        guard asked.count == 2, answered.count == 2, let (end, client) = asked.first, let other = asked[end.other],
            let server = answered[end], let otherServer = answered[end.other]
        else { return nil }
        let (first, second) = (max(Self.least, min(client, otherServer)), max(Self.least, min(other, server)))
        guard first != second else { return nil }
        let guilty = client != server ? (end, client, server) : (end.other, other, otherServer)
        return Observation(
            .mtuDiffers, [("From", .text("\(guilty.0)")), ("Client", .number(guilty.1)), ("Server", .number(guilty.2))])
    }
}
