import BBCases
import BBPackets
import BBTraffic

/// The control channel of a human interface device: the results of requests, and those that have none. HID 1.1.1, 3.1.
struct HumanInterfaceWatch {
    private var asked: [PacketSender: (name: String, sent: Moment)] = [:]

    /// The port of the control channel.
    static let control: UInt16 = 0x0011
    private static let (handshake, data): (UInt8, UInt8) = (0x0, 0xA)
    private static let requests: [UInt8: String] = [
        0x4: "GET_REPORT", 0x5: "SET_REPORT", 0x6: "GET_PROTOCOL", 0x7: "SET_PROTOCOL", 0x8: "GET_IDLE", 0x9: "SET_IDLE",
    ]
    private static let results: [UInt8: String] = [
        0x1: "NOT_READY", 0x2: "ERR_INVALID_REPORT_ID", 0x3: "ERR_UNSUPPORTED_REQUEST", 0x4: "ERR_INVALID_PARAMETER", 0xE: "ERR_UNKNOWN",
        0xF: "ERR_FATAL",
    ]
    private static let unplug: UInt8 = 0x15
    private static let limit: Int64 = 5_000_000

    /// - Parameter header: the first octet of the message.
    mutating func note(_ header: UInt8, from sender: PacketSender, at now: Moment) -> Refusal? {
        let (kind, parameter) = (header >> 4, header & 0x0F)
        if let name = Self.requests[kind] {
            asked[sender] = (name, now)
        } else if header == Self.unplug {
            return Refusal(layer: "HID", request: "the connection", result: "VIRTUAL_CABLE_UNPLUG", code: Int(header))
        } else if kind == Self.handshake || kind == Self.data {
            let request = asked.removeValue(forKey: sender.other)
            guard kind == Self.handshake, parameter != 0 else { return nil }
            return Refusal(
                layer: "HID", request: request?.name ?? "a request", result: Self.results[parameter] ?? Hex.number(parameter),
                code: Int(parameter))
        }
        return nil
    }

    func ended(at now: Moment) -> [Observation] {
        asked.values.filter { now.time - $0.sent.time >= Self.limit }.map { .unanswered($0.name, $0.sent, now) }
    }
}
