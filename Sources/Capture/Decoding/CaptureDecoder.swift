import Packets

/// Says in words what the packets of a capture are, from the outermost layer to the innermost that is known. Never fails: what is not
/// understood is shown as octets.
///
/// Takes a capture's records in their order: fragments of L2CAP PDUs are put together, bounded, per interface, direction and connection.
public struct CaptureDecoder {
    private var l2cap: [Path: L2CAPReassembly] = [:]

    private struct Path: Hashable {
        var interface: Int
        var direction: CaptureDirection
        var handle: UInt16
    }

    private static let mostPaths = 1_024

    public init() {}

    /// One line about a record.
    public mutating func text(of record: CaptureRecord) -> String {
        var text: String
        switch record.content {
        case .hci(let packet, let direction): text = self.text(of: packet, direction ?? .hostToController, interface: record.interface)
        case .air(let frame): text = AirText.text(of: frame)
        case .note(let note): text = "note: " + Self.printable(note)
        case .other(let linkType, let octets): text = "link type \(linkType.rawValue): \(Hex.octets(octets))"
        }
        if let whole = record.cutFrom { text += " (cut from \(whole) octets)" }
        if let comment = record.comment { text += " ; " + Self.printable(comment) }
        return text
    }

    private mutating func text(of packet: HCIPacket, _ direction: CaptureDirection, interface: Int) -> String {
        switch packet.kind {
        case .command, .event, .iso: return DynamicPDU(hci: packet).description
        case .sco:
            guard packet.bytes.count >= 3 else { return "SCO data, too short: \(Hex.octets(packet.bytes))" }
            let handle = (UInt16(packet.bytes[0]) | UInt16(packet.bytes[1]) << 8) & 0x0FFF
            return "SCO \(Hex.number(Int(handle), bits: 16)) \(packet.bytes.count - 3) octets"
        case .acl: return aclText(packet, direction, interface: interface)
        }
    }

    private mutating func aclText(_ packet: HCIPacket, _ direction: CaptureDirection, interface: Int) -> String {
        guard let header = packet.aclHeader else { return "ACL data, too short: \(Hex.octets(packet.bytes))" }
        let data = packet.bytes[ACLHeader.octets...]
        let beginning = header.boundary == .continuing ? "continued" : "first"
        var text = "ACL \(Hex.number(Int(header.handle.rawValue), bits: 16)) \(beginning) \(data.count) octets"
        if Int(header.length) != data.count { text += " (header says \(header.length))" }
        let path = Path(interface: interface, direction: direction, handle: header.handle.rawValue)
        if l2cap[path] == nil, l2cap.count >= Self.mostPaths { l2cap.removeAll() }
        for result in l2cap[path, default: L2CAPReassembly()].append(data, isFirst: header.boundary != .continuing) {
            switch result {
            case .complete(let channel, let payload): text += " | " + L2CAPText.text(channel: channel, payload)
            case .broken(let reason): text += " | L2CAP: \(reason)"
            }
        }
        return text
    }

    static func printable(_ text: String) -> String {
        String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    }
}

/// Puts the L2CAP PDUs of one direction of one connection together. Core Vol 3, Part A, 7.2.1.
struct L2CAPReassembly {
    enum Result: Equatable {
        case complete(channel: UInt16, payload: [UInt8])
        case broken(String)
    }

    private var pending: [UInt8]?

    mutating func append(_ data: ArraySlice<UInt8>, isFirst: Bool) -> [Result] {
        var results: [Result] = []
        if isFirst {
            if let lost = pending { results.append(.broken("\(lost.count) octets of an unfinished PDU")) }
            pending = Array(data)
        } else if pending == nil {
            return [.broken("a continuation without a beginning")]
        } else {
            pending?.append(contentsOf: data)
        }
        guard let octets = pending, octets.count >= L2CAPHeader.octets else { return results }
        let length = Int(octets[0]) | Int(octets[1]) << 8
        let channel = UInt16(octets[2]) | UInt16(octets[3]) << 8
        let excess = octets.count - L2CAPHeader.octets - length
        guard excess >= 0 else { return results }
        pending = nil
        results.append(.complete(channel: channel, payload: Array(octets[L2CAPHeader.octets..<(L2CAPHeader.octets + length)])))
        if excess > 0 { results.append(.broken("\(excess) octets more than the PDU's length")) }
        return results
    }
}

/// What an L2CAP PDU carries, by its channel. Core Vol 3, Part A, 2.1.
enum L2CAPText {
    static func text(channel: UInt16, _ payload: [UInt8]) -> String {
        switch channel {
        case 0x0001, 0x0005: return signalling(payload)
        case 0x0004: return "ATT " + DynamicPDU(layer: "ATT", bytes: payload).description
        case 0x0006: return "SMP " + DynamicPDU(layer: "SMP", bytes: payload).description
        case 0x0007: return "SMP over BR/EDR " + DynamicPDU(layer: "SMP", bytes: payload).description
        default: return "L2CAP \(Hex.number(Int(channel), bits: 16)) \(payload.count) octets: \(Hex.octets(payload))"
        }
    }

    /// The signalling channel of BR/EDR may carry several commands in one PDU.
    private static func signalling(_ payload: [UInt8]) -> String {
        var texts: [String] = []
        var rest = payload[...]
        while rest.count >= 4, texts.count < 64 {
            let length = 4 + Int(rest[rest.startIndex + 2]) + Int(rest[rest.startIndex + 3]) << 8
            texts.append(DynamicPDU(layer: "L2CAPSignaling", bytes: Array(rest.prefix(length))).description)
            rest = rest.dropFirst(length)
        }
        if !rest.isEmpty || texts.isEmpty { texts.append("L2CAP signalling, too short: \(Hex.octets(rest))") }
        return texts.joined(separator: " | ")
    }
}

/// What a transmission is.
enum AirText {
    static func text(of frame: AirFrame) -> String {
        let coded = frame.modulation == .leCoded
        let modulation = coded ? (frame.bytes.dropFirst(4).first == 1 ? "S2" : "S8") : frame.modulation == .le2M ? "2M" : "1M"
        var text = "channel \(frame.rfChannel) \(modulation)"
        let overhead = 4 + (coded ? 1 : 0)
        guard frame.bytes.count >= overhead + 2 + 3 else { return text + " too short: \(Hex.octets(frame.bytes))" }
        let pdu = Array(frame.bytes[overhead..<(frame.bytes.count - 3)])
        if frame.flags.contains(.crcChecked), !frame.flags.contains(.crcValid) { text += " bad CRC" }
        switch frame.channel {
        case .advertising: return text + " " + DynamicPDU(advertising: pdu, secondary: false).description
        case .auxiliaryAdvertising: return text + " " + DynamicPDU(advertising: pdu, secondary: true).description
        case .dataFromCentral, .dataFromPeripheral: return text + " " + data(frame, pdu)
        case .connectedIsochronousFromCentral, .connectedIsochronousFromPeripheral, .broadcastIsochronous:
            return text + " isochronous \(pdu.count - 2) octets"
        }
    }

    /// Core Vol 6, Part B, 2.4.
    private static func data(_ frame: AirFrame, _ pdu: [UInt8]) -> String {
        let header = pdu[0]
        let sender = frame.channel == .dataFromCentral ? "C>P" : "P>C"
        let flags = "SN=\(header >> 3 & 1) NESN=\(header >> 2 & 1) MD=\(header >> 4 & 1)"
        let access = Hex.number(Int(frame.referenceAccessAddress), bits: 32)
        let payload = Array(pdu[2...])
        let content =
            switch header & 3 {
            case 3: DynamicPDU(layer: "LLControl", bytes: payload).description
            case 2: "start \(payload.count) octets"
            case 1: payload.isEmpty ? "empty" : "continued \(payload.count) octets"
            default: "LLID \(header & 3) \(payload.count) octets"
            }
        return "\(access) \(sender) \(flags) \(content)"
    }
}
