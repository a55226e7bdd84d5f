import BBCases
import BBL2CAP
import BBPackets

/// I-frames and S-frames with the enhanced or the extended control field, for cases. Core Vol 3, Part A, 3.3.
enum RetransmissionFrames {
    static let information = "L2CAP_I_Frame"
    static let supervisory = "L2CAP_S_Frame"

    private static let functions = ["RR": 0, "REJ": 1, "RNR": 2, "SREJ": 3]
    private static let segments = ["Unsegmented": 0, "Start": 1, "End": 2, "Continuation": 3]
    /// 0 to 63 with the enhanced control field.
    private static let sequence = Vocabulary.Field.Kind.number(0...0x3FFF)
    private static let address: [Vocabulary.Field] = [
        .init(L2CAPFrame.channel, .number(0...0xFFFF), initial: Int(L2CAPFrame.usualChannel)),
        .init("Connection_Handle", .number(0...0x0EFF)),
        // 1 for a correct FCS; absent for channels without FCS.
        .init("FCS_Is_Right", .number(0...1), initial: 1),
    ]

    static let fields: [String: [Vocabulary.Field]] = [
        information: [
            .init("TxSeq", sequence), .init("F", .number(0...1)), .init("ReqSeq", sequence),
            .init("SAR", .number(0...3), labels: segments), .init("Information_Payload", .octets(atMost: 65_535)),
        ] + address,
        supervisory: [
            .init("S", .number(0...3), labels: functions), .init("P", .number(0...1)), .init("F", .number(0...1)),
            .init("ReqSeq", sequence),
        ] + address,
    ]

    static func name(of payload: [UInt8]) -> String { payload.first.map { $0 & 1 == 1 } == true ? supervisory : information }

    static func record(of payload: [UInt8], _ content: ChannelContent, _ handle: UInt16) -> CaseRecord {
        let (channel, hasCheck) = (content.channel, content.hasCheck == true)
        var record = CaseRecord([(L2CAPFrame.channel, .number(Int(channel))), ("Connection_Handle", .number(Int(handle)))])
        let check = hasCheck ? L2CAPFrameCheckSequence.octets : 0
        let head = content.isExtended ? 4 : 2
        guard payload.count >= head + check else { return record }
        let field = payload.prefix(head).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        switch content.isExtended ? FrameControl(extended: field) : FrameControl(standard: UInt16(truncatingIfNeeded: field)) {
        case .information(let kind, let txSeq, let reqSeq, let isFinal):
            record["ReqSeq"] = .number(Int(reqSeq))
            record["F"] = .number(isFinal ? 1 : 0)
            record["TxSeq"] = .number(Int(txSeq))
            record["SAR"] = .number(Int(kind.rawValue))
            record["Information_Payload"] = .octets(Array(payload[head...].dropLast(check)))
        case .supervisory(let function, let reqSeq, let isPoll, let isFinal):
            record["ReqSeq"] = .number(Int(reqSeq))
            record["F"] = .number(isFinal ? 1 : 0)
            record["S"] = .number(Int(function.rawValue))
            record["P"] = .number(isPoll ? 1 : 0)
        }
        guard hasCheck else { return record }
        record["FCS_Is_Right"] = .number(Array(payload.suffix(check)) == self.check(of: payload.dropLast(check), channel) ? 1 : 0)
        return record
    }

    /// Encodes a frame without its FCS.
    static func encode(_ name: String, _ fields: CaseRecord, isExtended: Bool = false) -> [UInt8] {
        func number(_ name: String) -> Int { fields[name]?.asNumber ?? 0 }
        let reqSeq = UInt16(truncatingIfNeeded: number("ReqSeq"))
        let isFinal = number("F") != 0
        let control: FrameControl =
            name == supervisory
            ? .supervisory(
                SupervisoryFunction(rawValue: UInt8(truncatingIfNeeded: number("S") & 3)) ?? .receiverReady, reqSeq: reqSeq,
                isPoll: number("P") != 0, isFinal: isFinal)
            : .information(
                SegmentKind(rawValue: UInt8(truncatingIfNeeded: number("SAR") & 3)) ?? .unsegmented,
                txSeq: UInt16(truncatingIfNeeded: number("TxSeq")), reqSeq: reqSeq, isFinal: isFinal)
        let head =
            isExtended
            ? octets(UInt16(truncatingIfNeeded: control.extended)) + octets(UInt16(control.extended >> 16)) : octets(control.standard)
        return head + (fields["Information_Payload"]?.asOctets ?? [])
    }

    /// Returns the frame with its FCS, which is incorrect if the case requests that.
    static func checked(_ body: [UInt8], _ channel: UInt16, _ fields: CaseRecord) -> [UInt8] {
        let isRight = fields["FCS_Is_Right"]?.asNumber != 0
        return body + check(of: body[...], channel).map { isRight ? $0 : ~$0 }
    }

    private static func check(of body: ArraySlice<UInt8>, _ channel: UInt16) -> [UInt8] {
        octets(L2CAPFrameCheckSequence.of(body, on: channel))
    }

    private static func octets(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }
}
