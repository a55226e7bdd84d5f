import BBCases
import BBL2CAP
import BBPackets
import BBTraffic

/// The services that devices offer in their records of service discovery, and the channels that they refuse all the same.
/// Core Vol 3, Part B, 5.1.5; Core Vol 3, Part A, 4.2 and 4.3.
struct OfferBook {
    /// A device, or the local end of one of several adapters.
    struct Owner: Hashable {
        var device: Int?
        var interface: Int
    }

    private struct Request: Hashable {
        var link: Int
        var end: PacketSender
        var identifier: UInt16
    }

    private var ports: [Owner: Set<UInt16>] = [:]
    private var channels: [Owner: Set<UInt8>] = [:]
    private var asked: [Request: UInt16] = [:]

    private static let most = 256
    /// A protocol descriptor with its parameter: L2CAP with a PSM, RFCOMM with a channel. Core Vol 3, Part B, 3.
    private static let (l2cap, rfcomm): ([UInt8], [UInt8]) = ([0x19, 0x01, 0x00, 0x09], [0x19, 0x00, 0x03, 0x08])

    /// Notes the records in a response.
    mutating func note(records octets: ArraySlice<UInt8>, of owner: Owner) {
        if ports.count + channels.count > Self.most { (ports, channels) = ([:], [:]) }
        var index = octets.startIndex
        while index + 5 <= octets.endIndex {
            defer { index += 1 }
            guard octets[index] == 0x19 else { continue }
            let head = octets[index..<index + 4]
            if head.elementsEqual(Self.rfcomm) { channels[owner, default: []].insert(octets[index + 4]) }
            if head.elementsEqual(Self.l2cap), index + 6 <= octets.endIndex {
                ports[owner, default: []].insert(UInt16(octets[index + 4]) << 8 | UInt16(octets[index + 5]))
            }
        }
    }

    /// Notes a command of signalling.
    mutating func note(_ pdu: DecodedLayer, link: Int, from sender: PacketSender, owner: Owner) -> Observation? {
        guard let identifier = pdu.identifier else { return nil }
        if let request = pdu.content(as: L2CAPSignaling.ConnectionReq.self) {
            if asked.count >= Self.most { asked = [:] }
            asked[Request(link: link, end: sender, identifier: identifier)] = request.psm
            return nil
        }
        guard let response = pdu.content(as: L2CAPSignaling.ConnectionRsp.self), response.result == .refusedPSMNotSupported,
            let port = asked.removeValue(forKey: Request(link: link, end: sender.other, identifier: identifier)),
            ports[owner]?.contains(port) == true
        else { return nil }
        return Observation(.offerRefused, [("Service", .text("PSM " + Hex.number(port)))])
    }

    /// Notes the refusal of a serial port by a device.
    func refused(dlci: Int, by owner: Owner) -> Observation? {
        guard let channel = UInt8(exactly: dlci >> 1), channels[owner]?.contains(channel) == true else { return nil }
        return Observation(.portRefused, [("Service", .text("RFCOMM channel \(channel)"))])
    }
}
