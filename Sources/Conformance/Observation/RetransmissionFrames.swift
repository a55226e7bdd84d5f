import Cases
import Packets

/// I-frames and S-frames with the enhanced control field, for cases. Core Vol 3, Part A, 3.3.
enum RetransmissionFrames {
    static let information = "L2CAP_I_Frame"
    static let supervisory = "L2CAP_S_Frame"

    private static let functions = ["RR": 0, "REJ": 1, "RNR": 2, "SREJ": 3]
    private static let segments = ["Unsegmented": 0, "Start": 1, "End": 2, "Continuation": 3]
    private static let address: [Vocabulary.Field] = [
        .init(L2CAPFrame.channel, .number(0...0xFFFF), initial: Int(L2CAPFrame.usualChannel)),
        .init("Connection_Handle", .number(0...0x0EFF)),
        // 1 for a correct FCS; absent for channels without FCS.
        .init("FCS_Is_Right", .number(0...1), initial: 1),
    ]

    static let fields: [String: [Vocabulary.Field]] = [
        information: [
            .init("TxSeq", .number(0...63)), .init("F", .number(0...1)), .init("ReqSeq", .number(0...63)),
            .init("SAR", .number(0...3), labels: segments), .init("Information_Payload", .octets(atMost: 65_535)),
        ] + address,
        supervisory: [
            .init("S", .number(0...3), labels: functions), .init("P", .number(0...1)), .init("F", .number(0...1)),
            .init("ReqSeq", .number(0...63)),
        ] + address,
    ]

    static func name(of payload: [UInt8]) -> String { payload.first.map { $0 & 1 == 1 } == true ? supervisory : information }

    /// - Parameter hasCheck: true if the frame ends with an FCS.
    static func record(of payload: [UInt8], _ channel: UInt16, _ handle: UInt16, hasCheck: Bool) -> CaseRecord {
        var record = CaseRecord([(L2CAPFrame.channel, .number(Int(channel))), ("Connection_Handle", .number(Int(handle)))])
        guard payload.count >= (hasCheck ? 4 : 2) else { return record }
        let field = Int(payload[0]) | Int(payload[1]) << 8
        record["ReqSeq"] = .number(field >> 8 & 63)
        record["F"] = .number(field >> 7 & 1)
        if field & 1 == 1 {
            record["S"] = .number(field >> 2 & 3)
            record["P"] = .number(field >> 4 & 1)
        } else {
            record["TxSeq"] = .number(field >> 1 & 63)
            record["SAR"] = .number(field >> 14)
            record["Information_Payload"] = .octets(Array(payload[2...].dropLast(hasCheck ? 2 : 0)))
        }
        guard hasCheck else { return record }
        let body = Array(payload.dropLast(2))
        record["FCS_Is_Right"] = .number(Array(payload.suffix(2)) == check(of: body, channel) ? 1 : 0)
        return record
    }

    /// Encodes a frame without its FCS.
    static func encode(_ name: String, _ fields: CaseRecord) -> [UInt8] {
        func number(_ name: String) -> Int { fields[name]?.asNumber ?? 0 }
        let common = number("F") << 7 | number("ReqSeq") << 8
        let field =
            name == supervisory
            ? 1 | number("S") << 2 | number("P") << 4 | common : number("TxSeq") << 1 | number("SAR") << 14 | common
        return [UInt8(truncatingIfNeeded: field), UInt8(truncatingIfNeeded: field >> 8)] + (fields["Information_Payload"]?.asOctets ?? [])
    }

    /// Returns the frame with its FCS, which is incorrect if the case requests that.
    static func checked(_ body: [UInt8], _ channel: UInt16, _ fields: CaseRecord) -> [UInt8] {
        let isRight = fields["FCS_Is_Right"]?.asNumber != 0
        return body + check(of: body, channel).map { isRight ? $0 : ~$0 }
    }

    /// Returns the FCS: x16 + x15 + x2 + 1, reflected, over the basic header and the frame. Core Vol 3, Part A, 3.3.5.
    private static func check(of body: [UInt8], _ channel: UInt16) -> [UInt8] {
        let length = UInt16(truncatingIfNeeded: body.count + 2)
        var value: UInt16 = 0
        for octet in [UInt8(truncatingIfNeeded: length), UInt8(length >> 8), UInt8(truncatingIfNeeded: channel), UInt8(channel >> 8)] + body
        {
            value ^= UInt16(octet)
            for _ in 0..<8 { value = value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xA001 }
        }
        return [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)]
    }
}
