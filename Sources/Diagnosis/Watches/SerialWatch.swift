import BBCapture
import BBCases
import BBPackets
import BBTraffic

/// Serial ports over RFCOMM: refused channels, and the results of AT commands. RFCOMM 1.2; HFP 1.9, 4.34.
struct SerialWatch {
    private struct Port: Hashable {
        var end: PacketSender
        var dlci: Int
    }

    /// Channels that SABM asks for.
    private var opening: Set<Port> = []
    private var commands: [Port: String] = [:]
    /// Frames that the other end may send to a port; nil without credit based flow control.
    private var credits: [Port: Int] = [:]

    private static let most = 64
    private static let (setMode, disconnectedMode, disconnect, data) = (0x2F, 0x0F, 0x43, 0xEF)
    /// Codes of the parameter negotiation.
    private static let (negotiation, negotiationResponse) = (0x83, 0x81)
    /// Convergence layers of credit based flow control: asked for, and granted. RFCOMM 1.2, 5.5.3.
    private static let creditBased = [0xF, 0xE]

    mutating func note(_ layer: DecodedLayer, from sender: PacketSender, to receiver: PacketSender) -> Refusal? {
        guard let frame = RFCOMMFrameView(layer.bytes[layer.range]) else { return nil }
        let (own, other) = (Port(end: sender, dlci: frame.dlci), Port(end: receiver, dlci: frame.dlci))
        switch frame.kind {
        case Self.setMode:
            if opening.count >= Self.most { opening.removeAll() }
            opening.insert(own)
        case Self.disconnectedMode:
            guard opening.remove(other) != nil else { return nil }
            return Refusal(layer: "RFCOMM", request: "RFCOMM SABM of DLCI \(frame.dlci)", result: "DM", code: Self.disconnectedMode)
        case Self.data where frame.dlci > 0: return text(layer.bytes[frame.information], own, other)
        default:
            opening.remove(other)
            if frame.kind == Self.disconnect { (credits[own], credits[other]) = (nil, nil) }
        }
        return nil
    }

    /// Notes the initial credits in a parameter negotiation: those that the other end may use.
    mutating func note(negotiation pdu: DecodedLayer, from sender: PacketSender) {
        guard [Self.negotiation, Self.negotiationResponse].contains(pdu.code), let dlci = pdu.fields.named("DLCI")?.int,
            let layer = pdu.fields.named("Convergence_Layer")?.int, let initial = pdu.fields.named("Initial_Credits")?.int
        else { return }
        if credits.count >= Self.most { credits.removeAll() }
        guard Self.creditBased.contains(layer) else {
            // Neither end counts credits then.
            credits = credits.filter { $0.key.dlci != dlci }
            return
        }
        credits[Port(end: sender, dlci: dlci)] = initial
    }

    /// Counts a data frame. Returns an observation if its sender had no credit. RFCOMM 1.2, 6.5.
    mutating func count(_ layer: DecodedLayer, from sender: PacketSender, to receiver: PacketSender) -> Observation? {
        guard let frame = RFCOMMFrameView(layer.bytes[layer.range]), frame.kind == Self.data, frame.dlci > 0 else { return nil }
        let (own, other) = (Port(end: sender, dlci: frame.dlci), Port(end: receiver, dlci: frame.dlci))
        if let given = frame.credits { credits[own]? += Int(given) }
        guard !frame.information.isEmpty, let left = credits[other] else { return nil }
        credits[other] = max(0, left - 1)
        return left > 0 ? nil : Observation(.sentWithoutCredit, [("Channel", .text("DLCI \(frame.dlci)"))])
    }

    private mutating func text(_ octets: ArraySlice<UInt8>, _ own: Port, _ other: Port) -> Refusal? {
        let lines = octets.split { $0 == 0x0D || $0 == 0x0A }.prefix(8).map { String(decoding: $0.prefix(64), as: UTF8.self) }
        for line in lines {
            if line.hasPrefix("AT+") || line.hasPrefix("ATD") || line.hasPrefix("ATA") {
                if commands.count >= Self.most { commands.removeAll() }
                commands[own] = String(line.prefix { !"=?;".contains($0) })
            } else if line == "OK" {
                commands[other] = nil
            } else if line == "ERROR" || line.hasPrefix("+CME ERROR") {
                guard let command = commands.removeValue(forKey: other) else { return nil }
                let code = line.split(separator: ":").last.flatMap { Int($0.trimmingPrefix(" ")) } ?? 0
                return Refusal(layer: "AT", request: command, result: line, code: code)
            }
        }
        return nil
    }
}
