import BBPackets

extension Layer {
    /// Decodes an SDU of a BR/EDR channel that carries the layer; nil if there is no declaration, as for AVDTP media.
    public func decode(sdu bytes: [UInt8], _ range: Range<Int>) -> DecodedLayer? {
        switch self {
        case .rfcommFrames: return RFCOMMFrameView(bytes[range]).flatMap { Self.multiplexer($0, bytes) }
        case .avdtp:
            // Only a signal in a single packet starts with its identifier. AVDTP 1.3, 8.4.
            guard range.count >= 2, bytes[range.lowerBound] >> 2 & 3 == 0 else { return nil }
            let signal = DecodedLayer(layer: .avdtp, bytes, range)
            return signal.declaration == nil ? nil : signal
        case .avctp: return Self.control(bytes, range)
        default: return DecodedLayer(layer: self, bytes, range)
        }
    }

    /// Decodes a multiplexer command in a UIH frame on DLCI 0.
    private static func multiplexer(_ frame: RFCOMMFrameView, _ bytes: [UInt8]) -> DecodedLayer? {
        guard frame.isMultiplexer, frame.hasRightCheck else {
            return DecodedLayer(named: RFCOMMFrameView.name, of: .rfcommFrames, bytes, frame.range, summary: frame.summary)
        }
        return DecodedLayer(layer: .rfcomm, bytes, frame.information)
    }

    /// Decodes an AVCTP message, including the content of an AVRCP vendor dependent frame. AVRCP 1.6, 6.3.1.
    private static func control(_ bytes: [UInt8], _ range: Range<Int>) -> DecodedLayer? {
        guard range.count >= 6, let declaration = PDUCatalog.declaration(layer: .avctp, code: 0) else { return nil }
        let message = DecodedLayer(declaration, bytes, range)
        // A rejected or unknown command is answered with an error instead of its response. AVRCP 1.6, 6.15.
        guard message.fields.named("Packet_Type")?.int == 0, message.fields.named("Opcode")?.int == 0,
            ![0x8, 0xA].contains(message.fields.named("Code")?.int), let operands = message.fields.named("Operands")?.range
        else { return message }
        let inner = DecodedLayer(layer: message.fields.named("CR")?.int == 1 ? .avrcpResponses : .avrcpCommands, bytes, operands)
        return inner.declaration == nil ? message : inner
    }
}

/// An RFCOMM frame. RFCOMM 1.2, 5.1; TS 07.10, 5.2.
public struct RFCOMMFrameView: Sendable {
    public static let name = "RFCOMM_Frame"
    /// Names of the control fields, without P/F.
    public static let controls: [String: Int] = ["SABM": 0x2F, "UA": 0x63, "DM": 0x0F, "DISC": 0x43, "UIH": 0xEF]
    static let pollFinal: UInt8 = 0x10

    public let address: UInt8
    public let control: UInt8
    public let credits: UInt8?
    /// Positions of the frame and of its information field.
    public let range: Range<Int>
    public let information: Range<Int>
    public let hasRightCheck: Bool

    public var dlci: Int { Int(address >> 2) }
    public var commandResponse: Int { Int(address >> 1 & 1) }
    public var hasPollFinal: Bool { control & Self.pollFinal != 0 }
    public var kind: Int { Int(control & ~Self.pollFinal) }
    public var isMultiplexer: Bool { kind == Self.controls["UIH"] && dlci == 0 && !information.isEmpty }

    /// Returns nil if there are fewer octets than the length field says.
    public init?(_ bytes: ArraySlice<UInt8>) {
        let start = bytes.startIndex
        guard bytes.count >= 4 else { return nil }
        (address, control) = (bytes[start], bytes[start + 1])
        var next = start + 3
        var length = Int(bytes[start + 2] >> 1)
        if bytes[start + 2] & 1 == 0 {
            length |= Int(bytes[start + 3]) << 7
            next += 1
        }
        let isData = control & ~Self.pollFinal == 0xEF
        let header = bytes[start..<(isData ? start + 2 : next)]
        let hasCredits = isData && control & Self.pollFinal != 0 && address >> 2 != 0 && bytes.endIndex > next
        credits = hasCredits ? bytes[next] : nil
        if hasCredits { next += 1 }
        guard bytes.endIndex == next + length + 1 else { return nil }
        range = bytes.indices
        information = next..<next + length
        hasRightCheck = Self.check(header) == bytes[next + length]
    }

    var summary: String {
        let name = Self.controls.first { $0.value == kind }?.key ?? Hex.number(control, bits: 8)
        let credits = credits.map { " credits \($0)" } ?? ""
        return "RFCOMM \(name) DLCI \(dlci) C/R \(commandResponse) P/F \(hasPollFinal ? 1 : 0)\(credits) \(information.count) octets"
            + (hasRightCheck ? "" : ", wrong FCS")
    }

    /// Encodes a frame, with the correct check sequence unless another is given.
    public static func bytes(address: UInt8, control: UInt8, credits: UInt8?, information: [UInt8], check: UInt8? = nil) -> [UInt8] {
        let count = information.count
        let length = count < 128 ? [UInt8(count << 1 | 1)] : [UInt8(truncatingIfNeeded: count << 1), UInt8(truncatingIfNeeded: count >> 7)]
        let isData = control & ~pollFinal == 0xEF
        let header = [address, control] + length
        let sum = check ?? Self.check(isData ? header[..<2] : header[...])
        return header + (credits.map { [$0] } ?? []) + information + [sum]
    }

    /// x^8 + x^2 + x + 1, reflected. TS 07.10, 5.2.1.6.
    private static func check(_ octets: ArraySlice<UInt8>) -> UInt8 {
        var value: UInt8 = 0xFF
        for octet in octets {
            value ^= octet
            for _ in 0..<8 { value = value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xE0 }
        }
        return ~value
    }
}
