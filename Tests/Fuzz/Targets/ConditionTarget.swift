import BBCapture
import BBPackets

@testable import BBDiagnosis

extension FuzzTarget {
    /// A condition of `--where`: it is refused with a reason, or decides about every packet, as its negation decides the other way.
    static let conditions = FuzzTarget(
        name: "conditions", layer: nil, isText: true,
        seeds: {
            [
                "LE_Connection_Complete and Status != Success", "ATT_ERROR_RSP and Attribute_Handle_In_Error > 9",
                "{Status: {not: Success}, Connection_Handle: 64}", "not (HCI_Reset or Connection_Handle >= 0x40) and Length < 27",
                "Status > 99999999999999999999999", "Opcode = {anyOf: [1, 2, {atLeast: 9223372036854775807}]}",
                "Attribute_Value = {length: 3}", "Peer_Address = \"C0:B1:BE:00:00:01\"", "Data = {prefix: 01 02}", "((Status))",
            ].map { Array($0.utf8) }
        },
        run: { input in
            let text = String(decoding: input, as: UTF8.self)
            let condition: PacketCondition
            do { condition = try PacketCondition(text) } catch let error as PacketCondition.Malformed {
                return try promise(!error.description.isEmpty, "refused without a reason")
            }
            _ = condition.secretField
            let negation = try? PacketCondition("not (\(text))")
            for packet in packets {
                let holds = condition.holds(for: packet)
                if let negation { try promise(negation.holds(for: packet) != holds, "it and its negation hold for \(packet)") }
                let names = Set(packet.layers.map(\.name))
                try promise(!holds || condition.mayHold(for: names), "it holds for \(packet), for which it may not")
            }
        })

    private static let packets: [DecodedPacket] = {
        let file = ScratchFile(".condition")
        try? file.write(Seeds.files(below: "Fixtures", ending: ".pcapng", limit: 1 << 24)[0])
        let reader = try? CaptureReader(path: file.path)
        file.remove()
        var decoder = PacketDecoder()
        var packets: [DecodedPacket] = []
        while packets.count < 80, let record = try? reader?.next() { packets.append(decoder.decode(record)) }
        return packets
    }()
}
