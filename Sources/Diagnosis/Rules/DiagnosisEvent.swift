import BBCases
import BBPackets
import BBTraffic

/// An input of the rules: a decoded PDU, or a conclusion drawn from several packets.
struct DiagnosisEvent {
    var name: String
    /// The number of the link; nil if the event belongs to none.
    var link: Int?
    /// The number of the remote device, if known.
    var device: Int?
    var sender: PacketSender?
    var packet: Int
    /// Microseconds since the first packet.
    var time: Int64
    var record: CaseRecord
    /// The decoded PDU, for texts; nil for a conclusion.
    var pdu: DecodedLayer?
}

/// Conclusions that rules can match like PDUs. Times are in milliseconds.
enum Conclusion: String, CaseIterable {
    /// A connection was established, or was open when the capture started.
    case linkOpened = "Link_Opened"
    /// A supervision timeout, reported on the HCI or visible on the air.
    case linkLost = "Link_Lost"
    /// A connection request on the air was followed by no packet of the peripheral.
    case linkNeverStarted = "Link_Never_Started"
    /// The link ended, or 30 s passed, while an ATT request had no response.
    case attUnanswered = "ATT_Unanswered"
    /// An ATT response without a request.
    case attUnrequested = "ATT_Unrequested"
    /// The link ended, or 40 s passed, while a link layer request had no response.
    case llUnanswered = "LL_Unanswered"
    /// A procedure of a command has no event that completes it until the link ended, or for 40 s.
    case procedureUnanswered = "Procedure_Unanswered"
    /// The link ended, or 30 s passed, while a pairing was incomplete.
    case pairingAbandoned = "Pairing_Abandoned"
    /// The controller completed no packet although its buffers held some.
    case creditsStalled = "Credits_Stalled"
    /// A command without Command_Complete or Command_Status for 5 s.
    case commandUnanswered = "Command_Unanswered"
    /// Connection parameters that a peripheral asks for, in milliseconds: limits, interval x (latency + 1), rest of the minimum modulo 15
    /// ms in microseconds, difference of the limits, and the part of the timeout above twice the effective interval.
    case parameterRequest = "Parameter_Request"
    /// A fragment from which no L2CAP frame could be made.
    case l2capFault = "L2CAP_Fault"
    /// The length in the header of a data PDU differs from the number of its octets.
    case lengthMismatch = "LL_Length_Mismatch"
    /// An encrypted packet with an invalid MIC, according to the capturing tool.
    case micInvalid = "MIC_Invalid"
    /// Packets of an encrypted link that the sniffer did not receive.
    case captureGap = "Capture_Gap"
    /// A packet truncated by the capturing tool.
    case packetCut = "Packet_Cut"
    /// The file ended within a packet or was malformed.
    case captureDamaged = "Capture_Damaged"

    var fields: [Vocabulary.Field] {
        func number(_ name: String) -> Vocabulary.Field { .init(name, .number(0...Int.max)) }
        return switch self {
        case .linkOpened: [.init("Kind")]
        case .linkLost: [number("Silence"), number("Timeout"), .init("Limit"), number("Advertised")]
        case .linkNeverStarted: [number("Waited"), number("From_Central")]
        case .attUnanswered, .llUnanswered, .procedureUnanswered: [.init("Request"), number("Waited")]
        case .attUnrequested: [.init("Response")]
        case .pairingAbandoned: [.init("Last"), number("Waited")]
        case .creditsStalled: [number("Outstanding"), number("Waited")]
        case .commandUnanswered: [.init("Command"), number("Waited")]
        case .parameterRequest:
            ["Interval_Min", "Interval_Max", "Latency", "Timeout", "Effective", "Remainder", "Span", "Margin"].map(number)
        case .l2capFault: [.init("Reason")]
        case .lengthMismatch: [number("Length"), number("Octets")]
        case .captureGap, .micInvalid: []
        case .packetCut: [number("Octets"), number("Original")]
        case .captureDamaged: [.init("Reason")]
        }
    }
}

extension Vocabulary {
    /// The names for rules: all PDUs, commands included, with their length in octets, and the conclusions.
    static let diagnosis: Vocabulary = {
        var vocabulary = Vocabulary(pdus: Vocabulary.declaredPDUs, alternatives: AlternativeEvents.all)
        for name in vocabulary.pdus.keys { vocabulary.pdus[name]?.add(DiagnosisEvent.octets) }
        for conclusion in Conclusion.allCases {
            vocabulary.pdus[conclusion.rawValue] = PDU(name: conclusion.rawValue, layer: .unknown, fields: conclusion.fields)
        }
        return vocabulary
    }()
}

extension Vocabulary {
    /// The names for conditions on packets: the PDUs that a capture can have, without conclusions and messages of an upper tester.
    static let packets: Vocabulary = {
        var vocabulary = Vocabulary.diagnosis
        vocabulary.pdus = vocabulary.pdus.filter { $0.value.layer != .unknown && !Set<Layer>.upperTester.contains($0.value.layer) }
        return vocabulary
    }()
}

extension DiagnosisEvent {
    /// The number of octets of a PDU after its header.
    static let octets = Vocabulary.Field("octets", .number(0...65_535))
}
