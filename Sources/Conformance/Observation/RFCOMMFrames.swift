import BBCapture
import BBCases
import BBPackets

/// RFCOMM frames for cases. RFCOMM 1.2, 5.1; TS 07.10, 5.2.
enum RFCOMMFrames {
    static let name = RFCOMMFrameView.name

    static let fields: [Vocabulary.Field] = [
        .init("Control", .number(0...0xFF), labels: RFCOMMFrameView.controls, initial: RFCOMMFrameView.controls["UIH"] ?? 0),
        .init("DLCI", .number(0...63)), .init("CR", .number(0...1)), .init("PF", .number(0...1)), .init("Credits", .number(0...255)),
        .init("Information", .octets(atMost: 32_767)), .init("FCS", .number(0...255)), .init("FCS_Is_Right", .number(0...1), initial: 1),
        .init(L2CAPFrame.channel, .number(0...0xFFFF), initial: Int(L2CAPFrame.usualChannel)),
        .init("Connection_Handle", .number(0...0x0EFF)),
    ]

    static func record(of payload: [UInt8], _ channel: UInt16, _ handle: UInt16) -> CaseRecord {
        var record = CaseRecord([(L2CAPFrame.channel, .number(Int(channel))), ("Connection_Handle", .number(Int(handle)))])
        guard let frame = RFCOMMFrameView(payload[...]) else { return record }
        record["Control"] = .number(frame.kind)
        record["DLCI"] = .number(frame.dlci)
        record["CR"] = .number(frame.commandResponse)
        record["PF"] = .number(frame.hasPollFinal ? 1 : 0)
        if let credits = frame.credits { record["Credits"] = .number(Int(credits)) }
        record["Information"] = .octets(Array(payload[frame.information]))
        record["FCS_Is_Right"] = .number(frame.hasRightCheck ? 1 : 0)
        return record
    }

    /// Encodes a frame; a `Credits` field sets P/F to 1. RFCOMM 1.2, 6.5.2.
    static func encode(_ fields: CaseRecord, given: Set<String>) -> [UInt8] {
        func number(_ name: String) -> Int { fields[name]?.asNumber ?? 0 }
        let credits = given.contains("Credits") ? UInt8(truncatingIfNeeded: number("Credits")) : nil
        let hasPollFinal = number("PF") != 0 || credits != nil
        let information = fields["Information"]?.asOctets ?? []
        let address = UInt8(truncatingIfNeeded: number("DLCI") << 2 | number("CR") << 1 | 1)
        let control = UInt8(truncatingIfNeeded: number("Control") | (hasPollFinal ? 0x10 : 0))
        var frame = RFCOMMFrameView.bytes(
            address: address, control: control, credits: credits, information: information,
            check: given.contains("FCS") ? UInt8(truncatingIfNeeded: number("FCS")) : nil)
        if fields["FCS_Is_Right"]?.asNumber == 0, let last = frame.popLast() { frame.append(~last) }
        return frame
    }

    /// Returns the messages of a UIH frame on DLCI 0.
    static func messages(in payload: [UInt8]) -> [[UInt8]] {
        guard let frame = RFCOMMFrameView(payload[...]), frame.isMultiplexer, frame.hasRightCheck else { return [] }
        return [Array(payload[frame.information])]
    }

    /// Returns the frame of a multiplexer message: UIH on DLCI 0, from the initiator of the session. TS 07.10, 5.4.3.1.
    static func carrying(_ message: [UInt8]) -> [UInt8] {
        RFCOMMFrameView.bytes(address: 0x03, control: UInt8(RFCOMMFrameView.controls["UIH"] ?? 0), credits: nil, information: message)
    }
}
