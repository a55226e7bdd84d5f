import BBPackets
import BBTraffic

/// Decodes the packets of a capture, in order, into trees. Never fails: unknown data is shown as octets.
///
/// Keeps bounded state for each interface and each link on the air, as needed to decode later packets.
public struct PacketDecoder {
    private var controllers: [Int: ControllerTraffic] = [:]
    private var air: [Int: AirTraffic] = [:]

    private let showsNames: Bool

    /// - Parameter names: show names of devices and attributes on handles.
    public init(names: Bool = false) { showsNames = names }

    public mutating func decode(_ record: CaptureRecord) -> DecodedPacket {
        var decoded: DecodedPacket
        switch record.content {
        case .hci(let packet, let direction): decoded = decode(packet, direction, interface: record.interface)
        case .air(let frame): decoded = decode(frame, interface: record.interface)
        case .baseband(let frame): decoded = DecodedPacket(frame)
        case .note(let note): decoded = .summary("note: " + PlainText.escaped(Self.oneLine(note)))
        case .other(let linkType, let octets): decoded = .summary("link type \(linkType.rawValue): \(Hex.octets(octets))", octets)
        }
        if let whole = record.cutFrom { decoded.notes.append("(cut from \(whole) octets)") }
        if record.isFlagged { decoded.notes.append("[flag]") }
        if let comment = record.comment { decoded.notes.append("; " + PlainText.escaped(Self.oneLine(comment))) }
        return decoded
    }

    /// Writes the text line of a packet; fast for a packet that occurred before.
    public mutating func write(_ record: CaptureRecord, to text: inout TextBuffer) {
        guard case .hci(let packet, let direction) = record.content, record.cutFrom == nil, record.comment == nil, !record.isFlagged
        else {
            return decode(record).write(to: &text)
        }
        controllers[record.interface, default: ControllerTraffic(names: showsNames)].write(
            packet, direction, to: &text)
    }

    /// Decodes an HCI packet, with what earlier packets of the capture have shown.
    ///
    /// - Parameter direction: nil if the capture does not contain it.
    public mutating func decode(_ packet: HCIPacket, _ direction: CaptureDirection?, interface: Int = 0) -> DecodedPacket {
        controllers[interface, default: ControllerTraffic(names: showsNames)].decode(packet, direction)
    }

    public mutating func decode(_ frame: AirFrame, interface: Int = 0) -> DecodedPacket {
        air[interface, default: AirTraffic(names: showsNames)].decode(frame)
    }

    private static func oneLine(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x80 }
        return isPlain ? text : String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    }
}

extension DecodedPacket {
    /// A packet that is described by a single line.
    static func summary(_ text: String, _ octets: [UInt8] = []) -> DecodedPacket {
        DecodedPacket(layers: [DecodedLayer(named: text, of: .unknown, octets, 0..<octets.count, summary: text)])
    }
}
