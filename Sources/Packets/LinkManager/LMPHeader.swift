/// The initiator of a PDU's transaction: the transaction ID. Core Vol 2, Part C, 2.3.
public enum LMPTransaction: UInt8, Sendable, Hashable {
    case central = 0
    case peripheral = 1
}

/// The header of a link manager PDU: transaction ID and opcode, in one octet or, after an escape opcode, two. Core Vol 2, Part C, 2.3.
public struct LMPHeader: Sendable, Hashable {
    public var transaction: LMPTransaction
    /// 0...0x7F; with an escape opcode, the escape opcode in the upper octet and the extended opcode in the lower: 0x7F01 is
    /// LMP_ACCEPTED_EXT.
    public var opcode: UInt16

    /// The opcodes that are followed by an extended opcode.
    static let escapes: ClosedRange<UInt8> = 124...127

    public init(_ transaction: LMPTransaction, opcode: UInt16) {
        self.transaction = transaction
        self.opcode = opcode
    }

    public init(from reader: inout ByteReader) throws(PDUError) {
        let first = try reader.u8("Opcode")
        transaction = first & 1 == 0 ? .central : .peripheral
        opcode = UInt16(first >> 1)
        if Self.escapes.contains(first >> 1) { opcode = opcode << 8 | UInt16(try reader.u8("Extended_Opcode")) }
    }

    /// The number of octets, one or two.
    public var count: Int { opcode > 0xFF ? 2 : 1 }

    public func encode(into writer: inout ByteWriter) {
        let first = opcode > 0xFF ? opcode >> 8 : opcode
        writer.u8(UInt8(truncatingIfNeeded: first) << 1 | transaction.rawValue)
        if opcode > 0xFF { writer.u8(UInt8(truncatingIfNeeded: opcode)) }
    }

    public var bytes: [UInt8] {
        var writer = ByteWriter(reserving: 2)
        encode(into: &writer)
        return writer.bytes
    }
}

/// A link manager PDU. Core Vol 2, Part C, 2.3.
public protocol LMPPDU: PDU {
    /// The opcode in the format of `LMPHeader`.
    static var opcode: UInt16 { get }
}

extension LMPPDU {
    /// Returns the transaction ID, opcode and parameters.
    public func bytes(_ transaction: LMPTransaction) -> [UInt8] {
        var writer = ByteWriter(reserving: 17)
        LMPHeader(transaction, opcode: Self.opcode).encode(into: &writer)
        encode(into: &writer)
        return writer.bytes
    }
}

extension LMP.Message {
    /// Decodes a PDU that starts with transaction ID and opcode; octets after the last field are refused.
    public init(bytes: [UInt8]) throws(PDUError) {
        var reader = ByteReader(bytes.span.bytes)
        try self.init(opcode: try LMPHeader(from: &reader).opcode, from: &reader)
        guard reader.remaining == 0 else { throw PDUError(field: "", offset: reader.offset, problem: .trailing(reader.remaining)) }
    }

    /// Returns the transaction ID, opcode and parameters.
    public func bytes(_ transaction: LMPTransaction) -> [UInt8] {
        var writer = ByteWriter(reserving: 17)
        LMPHeader(transaction, opcode: opcode).encode(into: &writer)
        encode(into: &writer)
        return writer.bytes
    }
}
