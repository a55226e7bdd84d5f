import BBCapture
import BBCases
import BBPackets
import BBSimulation

/// A BR/EDR packet on the air. Core Vol 2, Part B, 6.
struct BasebandPacket: Sendable {
    static let name = "BREDR_Packet"

    let seen: BasebandObservation

    static let fields: [Vocabulary.Field] = [
        .init("Type", .number(0...255), labels: labels), .init("LT_ADDR", .number(0...7)), .init("FLOW", .number(0...1)),
        .init("ARQN", .number(0...1)), .init("SEQN", .number(0...1)), .init("RF_Channel", .number(0...78)),
        .init("LLID", .number(0...3), labels: ["None": 0, "Continuation": 1, "Start": 2, "LMP": 3]), .init("Length", .number(0...1_021)),
        .init("Payload", .octets(atMost: 1_021)), .init("Encrypted", .number(0...1)),
    ]

    /// The packet types by their index in the declaration, because a code of the header has several meanings.
    private static let labels = Dictionary(
        BREDRPacketType.allCases.enumerated().map { ($0.element.rawValue, $0.offset) }, uniquingKeysWith: { first, _ in first })

    var record: CaseRecord {
        let data = Array(seen.data)
        return CaseRecord([
            ("Type", .number(Self.labels[seen.type.rawValue] ?? 0)), ("LT_ADDR", .number(Int(seen.ltAddr))),
            ("FLOW", .number(seen.flow ? 1 : 0)), ("ARQN", .number(seen.arqn ? 1 : 0)), ("SEQN", .number(seen.seqn ? 1 : 0)),
            ("RF_Channel", .number(Int(seen.rfChannel))), ("LLID", .number(Int(seen.logicalLink ?? 0))), ("Length", .number(data.count)),
            ("Payload", .octets(data)), ("Encrypted", .number(seen.isEncrypted ? 1 : 0)),
        ])
    }

    /// The LMP message in the packet, or a description of the packet.
    var decoded: DecodedPacket {
        if let message = seen.message { return DecodedPacket(layers: [DecodedLayer(layer: .lmp, message, 0..<message.count)]) }
        let header = "LT_ADDR \(seen.ltAddr), ARQN \(seen.arqn ? 1 : 0), SEQN \(seen.seqn ? 1 : 0)"
        let line = "\(seen.type.rawValue) on channel \(seen.rfChannel), \(header), \(seen.data.count) octets"
        return DecodedPacket(layers: [DecodedLayer(named: line, of: .baseband, seen.payload, 0..<seen.payload.count, summary: line)])
    }

    /// Logs a packet on the air, followed by its LMP message.
    static func note(_ seen: BasebandObservation, _ side: Side, in log: ObservationLog) {
        let packet = BasebandPacket(seen: seen)
        log.add(side, name, .baseband(packet), number: 0, at: seen.start)
        guard let message = seen.message else { return }
        let pdu = DynamicPDU(layer: .lmp, bytes: message)
        log.add(side, pdu.declaration?.name ?? "LMP PDU \(pdu.code)", .baseband(packet), number: 0, at: seen.start)
    }
}
