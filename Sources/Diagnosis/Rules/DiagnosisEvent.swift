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
    /// The interface of the capture: each adapter has its own.
    var interface = 0
    var sender: PacketSender?
    var packet: Int
    /// Microseconds since the first packet.
    var time: Int64
    /// The fields, after `fill`: most PDUs meet no rule that reads them.
    private(set) var record = CaseRecord()
    private var isFilled = false
    /// The decoded PDU; nil for a conclusion.
    var pdu: DecodedLayer?
    /// The findings of several links are merged by it: a device, or 0 for all private addresses that no key resolves.
    var owner: Int?
    /// Role of the local device, if it is known.
    var role: PacketSender?
    /// The kind of the connection, if it is none of those that are followed.
    var kind = "unknown"

    /// - Parameter record: the fields of a conclusion; nil for those of the PDU.
    init(
        name: String, link: Int? = nil, device: Int? = nil, interface: Int = 0, sender: PacketSender? = nil, packet: Int, time: Int64,
        record: CaseRecord? = nil, pdu: DecodedLayer? = nil
    ) {
        (self.name, self.link, self.device, self.interface, self.sender) = (name, link, device, interface, sender)
        (self.packet, self.time, self.pdu) = (packet, time, pdu)
        if let record { (self.record, isFilled) = (record, true) }
    }

    /// Reads the fields of the PDU.
    mutating func fill() {
        guard !isFilled, let pdu else { return }
        isFilled = true
        record = pdu.caseRecord
        for field in pdu.returns where record[field.name] == nil { record[field.name] = field.int.map { .number($0) } }
        record[Self.octets.name] = .number(pdu.fieldOctets)
    }

    /// The side that sent the PDU, for texts.
    var side: String {
        guard let sender else { return "unknown side" }
        guard let role, sender == .central || sender == .peripheral else { return "\(sender)" }
        return sender == role ? "local \(sender)" : "\(sender)"
    }

    /// The values of a conclusion that are no numbers.
    var texts: String {
        record.values.reduce(into: "") { if case .text(let text) = $1 { $0 += text + "\n" } }
    }
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
    /// A PDU refuses a request or reports an error, and no rule is about it.
    case refused = "Refused"
    /// An ATT request or indication was sent before the one before it was answered.
    case requestsOverlap = "Requests_Overlap"
    /// The link ended while a request of signalling, service discovery or AVDTP had no answer, or 60 s passed.
    case requestUnanswered = "Request_Unanswered"
    /// The controller does not know the handle of a link whose end is not in the capture.
    case endMissed = "End_Missed"
    /// Data of a connection that has ended.
    case dataAfterEnd = "Data_After_End"
    /// Data of a connection before the event that opens it.
    case dataBeforeStart = "Data_Before_Start"
    /// A host cancels its attempt to connect to one device.
    case dialCancelled = "Dial_Cancelled"
    /// A host uses another key than the one that the peer asks for.
    case wrongKey = "Wrong_Key"
    /// A host left an event unanswered that needs a command.
    case hostUnanswered = "Host_Unanswered"
    /// A PDU or SDU is longer than the receiver of its channel takes.
    case sduTooLong = "SDU_Too_Long"
    /// A PDU of ATT is longer than the MTU.
    case valueTooLong = "Value_Too_Long"
    /// A PDU on a credit-based channel without a credit.
    case sentWithoutCredit = "Sent_Without_Credit"
    /// The link ended while the sender of an SDU had no credit for the rest.
    case channelStalled = "Channel_Stalled"
    /// A client uses a handle that a Service Changed indication has made invalid.
    case serviceChangeIgnored = "Service_Change_Ignored"
    /// A read or write was refused that the declaration of the characteristic does not offer.
    case useNotDeclared = "Use_Not_Declared"
    /// A notification although the client has asked for indications alone, or the reverse.
    case otherValueKind = "Other_Value_Kind"
    /// A client has not subscribed to the values of its last connection, and received none.
    case subscriptionMissing = "Subscription_Missing"
    /// A scan ended, or 10 s passed, without a report.
    case scanSilent = "Scan_Silent"
    /// An SDU of an isochronous stream that was lost or received in part.
    case isoLost = "ISO_Lost"
    /// A controller violates a rule that applies to every controller.
    case ruleViolated = "Rule_Violated"
    /// The link ended while a sender had no credit, with nothing left of an SDU.
    case channelExhausted = "Channel_Exhausted"
    /// A response of the ASE Control Point that is no success.
    case streamOperationRefused = "Stream_Operation_Refused"
    /// A value that fills the smallest MTU, which the client never raised.
    case valueFillsMTU = "Value_Fills_MTU"
    /// A supervision timeout in force that is not longer than two intervals with latency.
    case timeoutTooShort = "Timeout_Too_Short"
    /// An ATT response answers the request before the one that is open, which was answered already.
    case answerRepeated = "Answer_Repeated"
    /// An answer that does not fit the request.
    case answerMisfit = "Answer_Misfit"
    /// An answer whose values contradict the request or its own layout.
    case answerInvalid = "Answer_Invalid"
    /// A part of a long value that is the one before it.
    case offsetIgnored = "Offset_Ignored"
    /// A server has no room for a prepared write although its queue was executed.
    case queueKept = "Queue_Kept"
    /// A client prepares writes again in a queue that was full, without cancelling it.
    case queueLeft = "Queue_Left"
    /// A public key that is no point of the curve.
    case keyInvalid = "Key_Invalid"
    /// A peer sends back a value of the other end.
    case valueReflected = "Value_Reflected"
    /// A host with Secure Connections refuses the pairing with a peer without.
    case legacyRefused = "Legacy_Refused"
    /// Keys that an end has promised did not come.
    case keysMissing = "Keys_Missing"
    /// A configuration of a stream that its end points do not allow.
    case streamMisconfigured = "Stream_Misconfigured"
    /// A frame whose check sequence is wrong or missing.
    case checkWrong = "FCS_Wrong"
    /// One end of a channel never asked for a configuration.
    case channelUnconfigured = "Channel_Unconfigured"
    /// A host asks to connect while its controller still tries to.
    case dialRepeated = "Dial_Repeated"
    /// A host returns none of its buffers to the controller.
    case hostBuffersKept = "Host_Buffers_Kept"
    /// The controller refuses a data path of an isochronous stream.
    case pathRefused = "Stream_Path_Refused"
    /// The end of an isochronous stream or of a voice connection.
    case streamEnded = "Stream_Ended"
    /// A command that the controller refuses in its present state.
    case refusedInState = "Refused_In_State"
    /// Two exchanges on one bearer, after which the ends have different MTUs.
    case mtuDiffers = "MTU_Differs"
    /// A client asks for the MTU again.
    case mtuAskedTwice = "MTU_Asked_Twice"
    /// A server refuses a configuration that it offers.
    case subscriptionRefused = "Subscription_Refused"
    /// A server calls a request unsupported that it has answered before.
    case refusedThoughSupported = "Refused_Though_Supported"
    /// More confirm values than a pairing has.
    case roundsExceeded = "Pairing_Rounds_Exceeded"
    /// Credits that no channel can have.
    case creditsInvalid = "Credits_Invalid"
    /// A controller allows no command.
    case commandsWithheld = "Commands_Withheld"
    /// A packet of data that is longer than the buffers of the controller.
    case packetTooLong = "Packet_Too_Long"
    /// The size of an encryption key that a host has read.
    case keyShort = "Key_Short"
    /// A voice connection on which only one end sends.
    case voiceSilent = "Voice_Silent"
    /// A channel is refused that the service discovery of the same device offers.
    case offerRefused = "Offer_Refused"
    /// The same for a serial port.
    case portRefused = "Port_Refused"
    /// The first fragment of a PDU with an impossible length or channel.
    case fragmentImpossible = "Fragment_Impossible"
    /// The fragments of a PDU end before it is whole, and another one begins.
    case fragmentAbandoned = "Fragment_Abandoned"
    /// The link ended at once after a refusal.
    case endedAfterRefusal = "Ended_After_Refusal"
    /// A controller scans only as long as it has no connection.
    case refusedWhileConnected = "Refused_While_Connected"
    /// A command was refused whose parameter is outside its range.
    case parameterInvalid = "Parameter_Invalid"
    /// Advertising data of a host that are no sequence of AD structures.
    case advertisingMalformed = "Advertising_Malformed"
    /// A PDU that does not fit its declaration.
    case pduMalformed = "PDU_Malformed"
    /// A data PDU with the reserved LLID.
    case reservedLLID = "Reserved_LLID"
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
    /// A command is refused that what the controller does at that time excludes.
    case commandAgainstState = "Command_Against_State"
    /// A packet of the host is longer than the controller takes.
    case aclTooLong = "ACL_Too_Long"
    /// A controller completes packets of a connection that has ended.
    case completedAfterEnd = "Completed_After_End"
    /// A host without free buffers since it counts the packets of ended connections.
    case buffersLost = "Buffers_Lost"
    /// A synchronization was lost whose timeout is shorter than the interval.
    case syncTimeoutTooShort = "Sync_Timeout_Too_Short"
    /// Reports stop in the middle of chained data.
    case reportIncomplete = "Report_Incomplete"
    /// Reports stop until the host restarts the scan.
    case reportsStopped = "Reports_Stopped"
    /// A voice connection is refused while the host keeps one open.
    case voiceNotClosed = "Voice_Not_Closed"
    /// Directed advertising ends at a device that does not resolve the address in it.
    case directedUnresolvable = "Directed_Unresolvable"
    /// A peer does not know a procedure of a feature that it claims.
    case featureUntrue = "Feature_Untrue"
    /// Procedures of both ends collided.
    case proceduresCollided = "Procedures_Collided"
    /// A request was refused before encryption and not repeated after it.
    case requestNotRepeated = "Request_Not_Repeated"
    /// A stream is configured before the one before it has ended.
    case streamStillOpen = "Stream_Still_Open"
    /// A configuration of a channel was refused until the channel was closed.
    case configurationRefused = "Configuration_Refused"

    var fields: [Vocabulary.Field] {
        func number(_ name: String) -> Vocabulary.Field { .init(name, .number(0...Int.max)) }
        return switch self {
        case .linkOpened: [.init("Kind")]
        case .linkLost: [number("Silence"), number("Timeout"), .init("Limit"), number("Advertised")]
        case .linkNeverStarted: [number("Waited"), number("From_Central")]
        case .attUnanswered, .requestUnanswered: [.init("Request"), number("Waited"), .init("From"), .init("Ended")]
        case .llUnanswered, .procedureUnanswered: [.init("Request"), number("Waited")]
        case .refused: ["Layer", "Request", "Result", "Code", "From", "Elsewhere"].map { .init($0) }
        case .requestsOverlap: [.init("Request"), .init("Open")]
        case .endMissed: []
        case .dataAfterEnd: [number("Waited"), .init("From")]
        case .dataBeforeStart: [number("Waited")]
        case .dialCancelled: [number("Waited"), .init("Sign"), number("Heard")]
        case .wrongKey: [.init("Asked"), .init("Given")]
        case .hostUnanswered: [.init("Event"), number("Waited")]
        case .sduTooLong: [number("Octets"), .init("Limit"), number("Value")]
        case .valueTooLong: [.init("PDU"), number("Octets"), number("MTU")]
        case .sentWithoutCredit: [.init("Channel")]
        case .channelStalled, .channelExhausted: [.init("Channel"), number("Waited")]
        case .serviceChangeIgnored: [.init("Request"), .init("Handle")]
        case .useNotDeclared: [.init("Use"), .init("Handle"), .init("Properties")]
        case .otherValueKind: [.init("PDU"), .init("Handle"), .init("Configuration")]
        case .subscriptionMissing: [.init("Handles"), number("Bonded")]
        case .scanSilent: [number("Waited")]
        case .isoLost: [.init("Packet_Status"), number("Sequence")]
        case .ruleViolated: [.init("PDU"), .init("Rule"), .init("Expected"), .init("Got"), number("Bench"), number("Certain")]
        case .streamOperationRefused: [.init("Operation"), .init("Result"), .init("Reason")]
        case .valueFillsMTU: [.init("PDU")]
        case .timeoutTooShort: [number("Timeout"), number("Effective")]
        case .answerRepeated, .answerMisfit: [.init("Layer"), .init("Answer"), .init("Request")]
        case .answerInvalid, .pduMalformed, .streamMisconfigured: [.init("PDU"), .init("Problem")]
        case .offsetIgnored: [.init("Handle"), number("Offset")]
        case .queueKept, .queueLeft: [.init("Handle")]
        case .keyInvalid, .legacyRefused: [.init("From")]
        case .valueReflected: [.init("PDU"), .init("From")]
        case .keysMissing: [.init("From"), .init("Keys"), number("Waited")]
        case .checkWrong: [.init("Channel"), .init("Asks")]
        case .channelUnconfigured: [.init("Channel"), .init("From"), number("Waited")]
        case .offerRefused, .portRefused: [.init("Service")]
        case .fragmentImpossible: [number("Length"), .init("Channel")]
        case .fragmentAbandoned: [number("Octets"), number("Whole"), .init("Channel")]
        case .endedAfterRefusal: [.init("Request"), .init("Result"), number("Waited"), .init("From")]
        case .refusedWhileConnected: [.init("Command")]
        case .advertisingMalformed: [.init("Command"), .init("Rest")]
        case .parameterInvalid: [.init("Command"), .init("Field"), .init("Expected"), .init("Got")]
        case .dialRepeated: [.init("Command"), number("Open")]
        case .hostBuffersKept: [number("Buffers"), number("Waited")]
        case .pathRefused: [.init("Direction"), .init("Stream"), .init("Problem")]
        case .streamEnded: [.init("Kind"), .init("Stream"), .init("Reason")]
        case .refusedInState: [.init("Command"), .init("State")]
        case .mtuDiffers: [.init("From"), number("Client"), number("Server")]
        case .mtuAskedTwice: [.init("From")]
        case .subscriptionRefused: [.init("Handle"), .init("Result"), number("Accepted")]
        case .refusedThoughSupported: [.init("Request"), .init("Handle")]
        case .roundsExceeded: [.init("From"), number("Round")]
        case .creditsInvalid: [.init("Channel"), .init("Problem")]
        case .commandsWithheld: [number("Waited")]
        case .packetTooLong: [number("Octets"), number("Limit")]
        case .keyShort: [number("Octets")]
        case .voiceSilent: [number("Sent")]
        case .reservedLLID: []
        case .attUnrequested: [.init("Response")]
        case .pairingAbandoned: [.init("Last"), number("Waited")]
        case .creditsStalled: [number("Outstanding"), number("Waited"), number("Full")]
        case .commandUnanswered: [.init("Command"), number("Waited")]
        case .parameterRequest:
            ["Interval_Min", "Interval_Max", "Latency", "Timeout", "Effective", "Remainder", "Span", "Margin"].map(number)
                + [.init("Shortest"), .init("Longest")]
        case .l2capFault: [.init("Reason")]
        case .lengthMismatch: [number("Length"), number("Octets")]
        case .captureGap, .micInvalid: []
        case .packetCut: [number("Octets"), number("Original")]
        case .captureDamaged: [.init("Reason")]
        case .commandAgainstState: [.init("Command"), .init("Result"), .init("Activity"), number("Since"), number("Times")]
        case .aclTooLong: [number("Octets"), number("Limit")]
        case .completedAfterEnd: [.init("Handle"), number("Packets"), number("End")]
        case .buffersLost: [number("Packets"), number("Buffers")]
        case .syncTimeoutTooShort: [number("Timeout"), number("Interval")]
        case .reportIncomplete, .reportsStopped: [number("Waited")]
        case .voiceNotClosed: [.init("Handle"), number("Since")]
        case .directedUnresolvable: [number("Ended")]
        case .featureUntrue: [.init("Request"), .init("Feature"), number("Since")]
        case .proceduresCollided:
            ["First", "First_From", "Second", "Second_From", "Result", "Code"].map { .init($0) }
                + ["First_Packet", "Second_Packet", "Ended"].map(number)
        case .requestNotRepeated: [.init("Request"), .init("Handles"), .init("Result"), number("Encrypted"), number("Subscription")]
        case .streamStillOpen: [number("End_Point"), .init("Reason")]
        case .configurationRefused: [.init("Channel"), .init("From"), number("Times"), number("MPS"), number("MTU")]
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
