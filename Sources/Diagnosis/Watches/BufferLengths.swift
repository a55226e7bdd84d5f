import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// The length of the buffers that a controller has for data, against the packets of its host. Core Vol 4, Part E, 4.1, 7.4.5 and 7.8.2.
struct BufferLengths {
    private var classic: Int?
    /// Nil if LE uses the buffers of BR/EDR.
    private var le: Int?
    private var isReported = false

    private static let answers = [
        HCICommands.ReadBufferSize.opcode, HCICommands.LEReadBufferSize.opcode, HCICommands.LEReadBufferSizeV2.opcode,
    ]

    mutating func received(_ event: HCIPacket) {
        guard let opcode = event.completedOpcode, Self.answers.contains(opcode), let answer = (try? CommandAnswer(event: event)) ?? nil,
            answer.status == .success, answer.returns.count >= 3
        else { return }
        let length = Int(answer.returns[1]) | Int(answer.returns[2]) << 8
        if opcode == HCICommands.ReadBufferSize.opcode { classic = length } else { le = length > 0 ? length : nil }
    }

    /// Compares a packet of data of the host. It is reported once.
    mutating func sent(_ packet: HCIPacket, isLE: Bool) -> Observation? {
        let octets = packet.bytes.count - packet.kind.headerLength
        guard !isReported, let limit = isLE ? le ?? classic : classic, limit > 0, octets > limit else { return nil }
        isReported = true
        return Observation(.packetTooLong, [("Octets", .number(octets)), ("Limit", .number(limit))])
    }
}
