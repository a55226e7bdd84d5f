import BBCapture
import BBPackets

/// The parts of a packet's line.
enum PacketLine {
    /// Writes number, time, interface and direction.
    static func write(_ packet: PacketOutput.Packet, to text: inout TextBuffer) {
        let isNamed = packet.interfaces.count > 1 && packet.interfaces.indices.contains(packet.record.interface)
        let interface = isNamed ? packet.interfaces[packet.record.interface].plainName : nil
        LineHead.write(packet.number, packet.elapsed, packet.record, interface: interface, to: &text)
    }

    /// The interface, the direction and the name of the innermost PDU.
    static func name(of packet: PacketOutput.Packet, _ decoded: DecodedPacket) -> String {
        let interface = packet.interfaces.count > 1 ? packet.interfaceName.map { PlainText.escaped($0) + " " } ?? "" : ""
        return interface + LineHead.direction(packet.record) + " " + (decoded.pdu?.name ?? decoded.description)
    }

    /// Writes an object with the packet's place, its text and its layers.
    static func writeJSON(_ packet: PacketOutput.Packet, _ decoded: DecodedPacket, to text: inout TextBuffer) {
        text.write("{\"number\":")
        text.write(decimal: packet.number)
        text.write(",\"seconds\":")
        LineHead.writeTime(packet.elapsed, to: &text)
        text.write(",\"time\":")
        text.write(decimal: Int(packet.record.time.microseconds))
        if let name = packet.interfaceName {
            text.write(",\"interface\":")
            text.write(json: name)
        }
        if let way = words(packet.record) { text.write(",\"direction\":\"\(way)\"") }
        let connections = packet.record.connections.map { "\($0)" }
        if !connections.isEmpty { text.write(",\"connections\":[\(connections.joined(separator: ","))]") }
        text.write(",\"text\":")
        text.write(json: decoded.description)
        text.write(",\"layers\":")
        decoded.writeJSON(to: &text)
        if packet.record.isFlagged { text.write(",\"flagged\":true") }
        if let comment = packet.record.comment {
            text.write(",\"comment\":")
            text.write(json: comment)
        }
        if !packet.marks.isEmpty {
            text.write(",\"marks\":[")
            for (index, mark) in packet.marks.enumerated() {
                if index > 0 { text.write(",") }
                text.write(json: mark)
            }
            text.write("]")
        }
        text.write("}")
    }

    /// Writes the columns of comma-separated values.
    static func writeCSV(_ packet: PacketOutput.Packet, _ decoded: DecodedPacket, to text: inout TextBuffer) {
        text.write(decimal: packet.number)
        text.write(",")
        LineHead.writeTime(packet.elapsed, to: &text)
        let connections = packet.record.connections.map { Hex.number(UInt64($0), bits: $0 > 0xFFFF ? 32 : 16) }
        let columns = [
            PlainText.escaped(packet.interfaceName ?? ""), words(packet.record) ?? "", connections.joined(separator: " "),
            decoded.pdu?.layer.rawValue ?? "", decoded.pdu?.name ?? "", decoded.description,
            packet.marks.map { PlainText.escaped($0) }.joined(separator: "; "),
        ]
        for column in columns {
            text.write(",")
            text.write(csv: column)
        }
        text.write("\r")
    }

    private static func words(_ record: CaptureRecord) -> String? {
        switch record.content {
        case .hci(_, .hostToController?): return "host-to-controller"
        case .hci(_, .controllerToHost?): return "controller-to-host"
        case .air(let frame):
            return frame.channel == .dataFromCentral
                ? "central-to-peripheral" : frame.channel == .dataFromPeripheral ? "peripheral-to-central" : "air"
        case .baseband(let frame): return frame.isFromCentral.map { $0 ? "central-to-peripheral" : "peripheral-to-central" } ?? "air"
        case .hci(_, nil), .note, .other: return nil
        }
    }
}
