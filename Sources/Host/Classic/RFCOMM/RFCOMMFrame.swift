import BBPackets

/// An RFCOMM frame: the basic option of TS 07.10 without flags. RFCOMM 1.2, 5.1; TS 07.10, 5.2.
public struct RFCOMMFrame: Sendable, Hashable {
    /// The control field without its P/F bit. TS 07.10, table 2.
    public enum Kind: UInt8, Sendable, CaseIterable {
        case sabm = 0x2F
        case ua = 0x63
        case dm = 0x0F
        case disc = 0x43
        case uih = 0xEF
    }

    public var kind: Kind
    /// Data link connection identifier, 0...61.
    public var dlci: UInt8
    /// The C/R bit of the address field, which depends on the initiator of the session. TS 07.10, table 1.
    public var commandResponse: Bool
    public var pollFinal: Bool
    /// Credits in a UIH frame with P/F set. RFCOMM 1.2, 6.5.2.
    public var credits: UInt8?
    public var information: [UInt8]

    /// Maximum overhead: address, control, two octets of length, credits and FCS.
    public static let mostOverhead = 6
    private static let pollFinalBit: UInt8 = 0x10

    public init(
        _ kind: Kind, dlci: UInt8, commandResponse: Bool, pollFinal: Bool = true, credits: UInt8? = nil, information: [UInt8] = []
    ) {
        (self.kind, self.dlci, self.commandResponse) = (kind, dlci, commandResponse)
        (self.pollFinal, self.credits, self.information) = (pollFinal, credits, information)
    }

    /// Parses a frame; trailing octets are an error.
    ///
    /// - Parameters:
    ///   - hasCredits: P/F in UIH announces an octet of credits.
    ///   - ignoresCheck: accept frames with a wrong FCS.
    public init(_ octets: [UInt8], hasCredits: Bool, ignoresCheck: Bool = false) throws(PDUError) {
        var reader = ByteReader(octets.span.bytes)
        let address = try reader.u8("Address")
        let control = try reader.u8("Control")
        guard address & 1 == 1, let kind = Kind(rawValue: control & ~Self.pollFinalBit) else {
            throw PDUError(field: "Control", offset: 0, problem: .value(Hex.octets([address, control])))
        }
        self.kind = kind
        dlci = address >> 2
        commandResponse = address & 2 != 0
        pollFinal = control & Self.pollFinalBit != 0
        let length = try reader.extensibleLength("Length")
        let header = octets.prefix(kind == .uih ? 2 : reader.offset)
        credits = kind == .uih && pollFinal && hasCredits && dlci != 0 ? try reader.u8("Credits") : nil
        information = try reader.bytes(length, "Information")
        guard try reader.u8("FCS") == FrameCheckSequence.of(header) || ignoresCheck else {
            throw PDUError(field: "FCS", offset: reader.offset - 1, problem: .value("wrong"))
        }
        guard reader.remaining == 0 else {
            throw PDUError(field: "FCS", offset: reader.offset, problem: .trailing(reader.remaining))
        }
    }

    public var octets: [UInt8] {
        var writer = ByteWriter(reserving: Self.mostOverhead + information.count)
        writer.u8(dlci << 2 | (commandResponse ? 2 : 0) | 1)
        writer.u8(kind.rawValue | (pollFinal ? Self.pollFinalBit : 0))
        writer.extensibleLength(information.count)
        let check = FrameCheckSequence.of(writer.bytes.prefix(kind == .uih ? 2 : writer.bytes.count))
        if let credits { writer.u8(credits) }
        writer.bytes(information)
        writer.u8(check)
        return writer.bytes
    }
}

/// The frame check sequence (FCS): x^8 + x^2 + x + 1, reflected, over the header. TS 07.10, 5.2.1.6 and annex B.
enum FrameCheckSequence {
    private static let table: [UInt8] = (0..<256).map { index in
        (0..<8).reduce(UInt8(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xE0 }
    }

    static func of(_ octets: some Sequence<UInt8>) -> UInt8 { ~octets.reduce(0xFF) { table[Int($0 ^ $1)] } }
}

/// Length fields with an extension bit: one octet up to 127, two octets above. TS 07.10, 5.2.1.5.
extension ByteReader {
    mutating func extensibleLength(_ field: StaticString) throws(PDUError) -> Int {
        let low = Int(try u8(field))
        if low & 1 == 1 { return low >> 1 }
        return low >> 1 | Int(try u8(field)) << 7
    }
}

extension ByteWriter {
    mutating func extensibleLength(_ length: Int) {
        if length <= 0x7F {
            u8(UInt8(truncatingIfNeeded: length << 1 | 1))
        } else {
            u8(UInt8(truncatingIfNeeded: length << 1 & 0xFE))
            u8(UInt8(truncatingIfNeeded: length >> 7))
        }
    }
}
