import BBCapture
import BBPackets

/// The protocols in a capture that were examined, and the packets of which nothing is known.
public struct Coverage: Sendable {
    /// Number of PDUs of each layer.
    private var pdus = [Int](repeating: 0, count: Layer.allCases.count)
    /// Packets of Bluetooth.
    public private(set) var bluetooth = 0
    private var encrypted = 0
    private var cut = 0
    private var unknown = 0

    mutating func add(_ record: CaptureRecord, _ decoded: DecodedPacket) {
        switch record.content {
        case .hci, .air, .baseband: bluetooth += 1
        case .note, .other: return
        }
        if decoded.isEncrypted { encrypted += 1 }
        if record.cutFrom != nil { cut += 1 }
        guard let pdu = decoded.pdu else { return }
        if pdu.declaration == nil, pdu.layer == .l2cap || pdu.layer == .unknown { unknown += 1 } else { pdus[Int(pdu.layer.number)] += 1 }
    }

    /// The protocols that were examined, and the packets that were not, for a reader who is told that there is no fault.
    var text: String {
        let examined = Layer.allCases.filter { pdus[Int($0.number)] > 0 && !$0.title.isEmpty }
            .map { "\(pdus[Int($0.number)]) \($0.title)" }
        var text = examined.isEmpty ? "No packet was examined." : "Examined: " + examined.joined(separator: ", ") + "."
        let missing = [(encrypted, "encrypted"), (cut, "cut by the capturing tool"), (unknown, "of a protocol that is not examined")]
            .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if !missing.isEmpty { text += " Not known: packets " + missing.joined(separator: ", ") + "." }
        return text
    }
}
