import BBPackets

/// A line with a whole packet.
enum LogLine {
    private static let longestHead = 300

    static func packet(in line: ArraySlice<UInt8>) -> LogPacket? {
        named(line) ?? directed(line)
    }

    /// A line of BTstack: packet type, arrow, octets without the H4 indicator.
    private static func named(_ line: ArraySlice<UInt8>) -> LogPacket? {
        guard let (arrow, direction) = arrow(in: line), arrow.lowerBound >= line.startIndex + 3,
            let kind = kind(line[(arrow.lowerBound - 3)..<arrow.lowerBound])
        else { return nil }
        let octets = LogText.pairs(line[arrow.upperBound...].drop { $0 == 32 })
        guard octets.count >= (kind == .event ? 2 : 3) else { return nil }
        return LogPacket(HCIPacket(kind, octets), direction)
    }

    private static func arrow(in line: ArraySlice<UInt8>) -> (Range<Int>, CaptureDirection)? {
        let head = line.prefix(longestHead)
        if let range = LogText.range(of: " => ", in: head) { return (range, .hostToController) }
        if let range = LogText.range(of: " <= ", in: head) { return (range, .controllerToHost) }
        return nil
    }

    private static func kind(_ word: ArraySlice<UInt8>) -> HCIPacket.Kind? {
        switch String(decoding: word, as: UTF8.self).uppercased() {
        case "CMD": .command
        case "EVT": .event
        case "ACL": .acl
        case "SCO": .sco
        case "ISO": .iso
        default: nil
        }
    }

    /// A line that names the direction and ends with a whole packet and its H4 indicator.
    private static func directed(_ line: ArraySlice<UInt8>) -> LogPacket? {
        let text = LogText.octetsAtEnd(line)
        guard text.count >= 8, let direction = direction(line[..<text.startIndex].prefix(longestHead)), let octets = LogText.octets(text),
            let packet = HCIPacket(wholeIndicated: octets[...])
        else { return nil }
        return packet.impliedDirection.map { $0 == direction } == false ? nil : LogPacket(packet, direction)
    }

    /// The direction that the head of a line names.
    static func direction(_ head: ArraySlice<UInt8>) -> CaptureDirection? {
        let text = String(decoding: head, as: UTF8.self).uppercased()
        let spaced = text.split { !$0.isLetter && $0 != "-" && $0 != ">" && $0 != "=" && $0 != "<" }.joined(separator: " ")
        for (words, direction) in directions where words.contains(where: { spaced.contains($0) }) { return direction }
        return nil
    }

    private static let directions: [([String], CaptureDirection)] = [
        (
            ["CONTROLLER -> HOST", "CONTROLLER->HOST", "FROM CONTROLLER", "HCI IPC SEND", "HCI RPMSG SEND", "HCI UART SEND"],
            .controllerToHost
        ),
        (["HOST -> CONTROLLER", "HOST->CONTROLLER", "TO CONTROLLER"], .hostToController),
        (["RX", "RECV", "RECEIVE", "<=", "<-", "<<<"], .controllerToHost),
        (["TX", "SEND", "SENT", "=>", "->", ">>>", "FINAL HCI BUFFER"], .hostToController),
    ]
}
