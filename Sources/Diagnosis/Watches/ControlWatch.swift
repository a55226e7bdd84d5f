import BBCases
import BBPackets
import BBTraffic

/// The commands and responses of AV/C on one link. AV/C Digital Interface Command Set 4.1, 8.1 and 8.2; AVRCP 1.6, 6.
struct ControlWatch {
    private struct Command {
        var kind: UInt8
        var name: String
        var sent: Moment
        /// An interim response has come: the final one may take any time.
        var hasInterim = false
    }

    private struct Label: Hashable {
        var end: PacketSender
        var label: UInt8
    }

    private var commands: [Label: Command] = [:]

    private static let kinds: [UInt8: String] = [0: "CONTROL", 1: "STATUS", 2: "SPECIFIC INQUIRY", 3: "NOTIFY", 4: "GENERAL INQUIRY"]
    /// The responses that each kind of command may have.
    private static let responses: [UInt8: Set<UInt8>] = [
        0: [0x8, 0x9, 0xA, 0xF], 1: [0x8, 0xA, 0xB, 0xC], 2: [0x8, 0xC], 3: [0x8, 0xA, 0xD, 0xF], 4: [0x8, 0xC],
    ]
    private static let names: [UInt8: String] = [
        0x8: "NOT_IMPLEMENTED", 0x9: "ACCEPTED", 0xA: "REJECTED", 0xB: "IN_TRANSITION", 0xC: "STABLE", 0xD: "CHANGED", 0xF: "INTERIM",
    ]
    /// The continuation of a response has the code of that. AVRCP 1.6, 6.8.
    private static let continuing: Set<UInt8> = [0x40, 0x41]
    /// The header of a message, and of the frame in it; the PDU follows the company.
    private static let (header, frame) = (3, 3)
    private static let interim: UInt8 = 0xF
    /// A response comes within a second.
    private static let limit: Int64 = 10_000_000

    /// - Parameter message: the octets of the message of AVCTP.
    mutating func note(_ message: ArraySlice<UInt8>, _ name: String, from sender: PacketSender, at now: Moment) -> Observation? {
        let start = message.startIndex
        // A single packet of AVRCP with a frame.
        guard message.count >= Self.header + Self.frame, message[start] & 0x0C == 0, message[start + 1] == 0x11, message[start + 2] == 0x0E
        else { return nil }
        let (label, code) = (message[start] >> 4, message[start + Self.header] & 0x0F)
        let position = start + Self.header + Self.frame + 3
        let isVendor = message[start + Self.header + 2] == 0
        guard message[start] & 2 != 0 else {
            commands[Label(end: sender, label: label)] = nil
            if isVendor, message.endIndex > position, Self.continuing.contains(message[position]) { return nil }
            if Self.responses[code] != nil { commands[Label(end: sender, label: label)] = Command(kind: code, name: name, sent: now) }
            return nil
        }
        let asked = Label(end: sender.other, label: label)
        guard let command = commands[asked] else { return nil }
        if code == Self.interim { commands[asked]?.hasInterim = true } else { commands[asked] = nil }
        guard let kind = Self.kinds[command.kind], Self.responses[command.kind]?.contains(code) == false else { return nil }
        return Observation(
            .answerMisfit,
            [
                ("Layer", .text("AVCTP")), ("Answer", .text(Self.names[code] ?? Hex.number(code, bits: 8))),
                ("Request", .text("the \(kind) command \(command.name)")),
            ])
    }

    /// The first command without a response at the end of the link or of the capture.
    func ended(at now: Moment) -> [Observation] {
        let waiting = commands.values.filter { !$0.hasInterim && now.time - $0.sent.time >= Self.limit }
        return waiting.min { $0.sent.packet < $1.sent.packet }.map { [.unanswered($0.name, $0.sent, now)] } ?? []
    }
}
