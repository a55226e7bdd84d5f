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

    /// Frames that the other end may send to a port.
    private struct Credits {
        var left: Int
        /// The frame that took the last one.
        var empty: Moment?
    }

    /// Channels that SABM asks for.
    private var opening: [Port: Moment] = [:]
    /// The last command of each end, and whether the other end has sent nothing since.
    private var commands: [Port: (name: String, sent: Moment, isSilent: Bool)] = [:]
    /// Nil without credit based flow control.
    private var credits: [Port: Credits] = [:]

    private static let most = 64
    private static let (setMode, disconnectedMode, disconnect, data) = (0x2F, 0x0F, 0x43, 0xEF)
    /// Codes of the parameter negotiation.
    private static let (negotiation, negotiationResponse) = (0x83, 0x81)
    /// Convergence layers of credit based flow control: asked for, and granted. RFCOMM 1.2, 5.5.3.
    private static let creditBased = [0xF, 0xE]
    /// The acknowledgement timer has 10 to 60 s. RFCOMM 1.2, 5.3.
    private static let limit: Int64 = 10_000_000

    mutating func note(_ layer: DecodedLayer, from sender: PacketSender, to receiver: PacketSender, at now: Moment) -> Refusal? {
        guard let frame = RFCOMMFrameView(layer.bytes[layer.range]) else { return nil }
        let (own, other) = (Port(end: sender, dlci: frame.dlci), Port(end: receiver, dlci: frame.dlci))
        switch frame.kind {
        case Self.setMode:
            if opening.count >= Self.most { opening.removeAll() }
            opening[own] = now
        case Self.disconnectedMode:
            guard opening.removeValue(forKey: other) != nil else { return nil }
            return Refusal(layer: "RFCOMM", request: "RFCOMM SABM of DLCI \(frame.dlci)", result: "DM", code: Self.disconnectedMode)
        case Self.data where frame.dlci > 0: return text(layer.bytes[frame.information], own, other, now)
        default:
            opening[other] = nil
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
        credits[Port(end: sender, dlci: dlci)] = Credits(left: initial)
    }

    /// Counts a data frame. Returns an observation if its sender had no credit. RFCOMM 1.2, 6.5.
    mutating func count(_ layer: DecodedLayer, from sender: PacketSender, to receiver: PacketSender, at now: Moment) -> Observation? {
        guard let frame = RFCOMMFrameView(layer.bytes[layer.range]), frame.kind == Self.data, frame.dlci > 0 else { return nil }
        let (own, other) = (Port(end: sender, dlci: frame.dlci), Port(end: receiver, dlci: frame.dlci))
        if let given = frame.credits, given > 0 {
            credits[own]?.left += Int(given)
            credits[own]?.empty = nil
        }
        guard !frame.information.isEmpty, let left = credits[other]?.left else { return nil }
        credits[other] = Credits(left: max(0, left - 1), empty: left == 1 ? now : nil)
        return left > 0 ? nil : Observation(.sentWithoutCredit, [("Channel", .text("DLCI \(frame.dlci)"))])
    }

    private mutating func text(_ octets: ArraySlice<UInt8>, _ own: Port, _ other: Port, _ now: Moment) -> Refusal? {
        if !octets.isEmpty { commands[other]?.isSilent = false }
        let lines = octets.split { $0 == 0x0D || $0 == 0x0A }.prefix(8).map { String(decoding: $0.prefix(64), as: UTF8.self) }
        for line in lines {
            if line.hasPrefix("AT+") || line.hasPrefix("ATD") || line.hasPrefix("ATA") {
                if commands.count >= Self.most { commands.removeAll() }
                // The first of several that are open is the one that waits.
                let silent = commands[own].flatMap { $0.isSilent ? $0 : nil }
                commands[own] = silent ?? (String(line.prefix { !"=?;".contains($0) }), now, true)
            } else if line == "OK" {
                commands[other] = nil
            } else if line == "ERROR" || line.hasPrefix("+CME ERROR") {
                guard let command = commands.removeValue(forKey: other) else { return nil }
                let code = line.split(separator: ":").last.flatMap { Int($0.trimmingPrefix(" ")) } ?? 0
                return Refusal(layer: "AT", request: command.name, result: line, code: code)
            }
        }
        return nil
    }

    /// Waits that last until the end of the link or of the capture: for a channel, for the result of a command, or for credits.
    func ended(at now: Moment) -> [Observation] {
        func isOverdue(_ sent: Moment) -> Bool { now.time - sent.time >= Self.limit }
        return opening.filter { isOverdue($0.value) }.map { .unanswered("RFCOMM SABM of DLCI \($0.key.dlci)", $0.value, now) }
            + commands.values.filter { $0.isSilent && isOverdue($0.sent) }.map { .unanswered($0.name, $0.sent, now) }
            + credits.compactMap { port, credits in
                guard let empty = credits.empty, isOverdue(empty) else { return nil }
                return Observation(
                    .channelExhausted, [("Channel", .text("DLCI \(port.dlci)")), ("Waited", .milliseconds(now.time - empty.time))],
                    packet: empty.packet)
            }
    }
}
