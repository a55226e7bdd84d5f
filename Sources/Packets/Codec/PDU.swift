/// Something with one encoding on the wire.
public protocol WireValue: Sendable, Equatable {
    init(from reader: inout ByteReader) throws(PDUError)
    func encode(into writer: inout ByteWriter)
}

/// A PDU that was declared. Its encoding is its parameters; the header that names it (opcode, event code) belongs to the layer.
public protocol PDU: WireValue {
    /// The Core Specification's name, without `HCI_`.
    static var name: String { get }
}

extension WireValue {
    /// The encoded parameters.
    @inlinable public var parameters: [UInt8] {
        var writer = ByteWriter(reserving: 32)
        encode(into: &writer)
        return writer.bytes
    }

    @inlinable public var encodedCount: Int { parameters.count }
}

extension PDU {
    /// Reads parameters that must be used up exactly.
    @inlinable public init(parameters: [UInt8]) throws(PDUError) {
        var reader = ByteReader(parameters.span.bytes)
        self = try Self.readAll(&reader)
    }

    /// Reads parameters that a later version of the specification may have lengthened: octets after the last field are ignored.
    @inlinable public init(prefixOf parameters: [UInt8]) throws(PDUError) {
        var reader = ByteReader(parameters.span.bytes)
        self = try Self.read(&reader)
    }

    @inlinable static func readAll(_ reader: inout ByteReader) throws(PDUError) -> Self {
        let value = try read(&reader)
        guard reader.remaining == 0 else {
            throw PDUError(pdu: name, field: "", offset: reader.offset, problem: .trailing(reader.remaining))
        }
        return value
    }

    @inlinable static func read(_ reader: inout ByteReader) throws(PDUError) -> Self {
        do throws(PDUError) { return try Self(from: &reader) } catch {
            var named = error
            named.pdu = name
            throw named
        }
    }
}

/// What a controller answers to a command first. Core Vol 4, Part E, 4.4.
public enum CommandCompletion: Sendable, Hashable {
    /// Command Status; the result comes in another event.
    case status
    /// Command Complete with the return parameters.
    case complete
}

/// An HCI command. Core Vol 4, Part E, 5.4.1.
public protocol HCICommand: PDU {
    /// The return parameters of Command Complete; `NoReturn` where there are none.
    associatedtype Return: PDU
    /// OGF in the upper 6 bits, OCF in the lower 10.
    static var opcode: UInt16 { get }
    static var completion: CommandCompletion { get }
    /// Nil for a vendor's command, and for the few that every controller has.
    static var supportedCommandsBit: SupportedCommandsBit? { get }
    /// The LE features of which a controller needs one to have the command; empty where it needs none. Core Vol 4, Part E, 3.1.
    static var neededFeatures: LEFeatures { get }

    /// Checks every field by itself against its declared range or values. Rules about several fields, and about what is supported, are the controller's.
    func validate() throws(IllegalValue)
}

extension HCICommand {
    public static var neededFeatures: LEFeatures { [] }
    public func validate() throws(IllegalValue) {}
}

/// An HCI event; LE subevents carry the code 0x3E and a subevent code. Core Vol 4, Part E, 5.4.4.
public protocol HCIEvent: PDU {
    static var code: UInt8 { get }
    static var subevent: UInt8? { get }
    /// Which bit of which event mask holds it back.
    static var maskPosition: EventMaskPosition { get }
    /// The LE features of which a controller needs one to send the event; empty where it needs none. Core Vol 4, Part E, 3.1.
    static var neededFeatures: LEFeatures { get }
}

extension HCIEvent {
    public static var neededFeatures: LEFeatures { [] }
}

/// A PDU that begins with its opcode.
public protocol OpcodedPDU: PDU {
    static var opcode: UInt8 { get }
}

extension OpcodedPDU {
    /// The opcode and the parameters.
    @inlinable public var bytes: [UInt8] {
        var writer = ByteWriter(reserving: 32)
        writer.u8(Self.opcode)
        encode(into: &writer)
        return writer.bytes
    }

    /// Reads opcode and parameters, which must be used up exactly.
    @inlinable public init(bytes: [UInt8]) throws(PDUError) { try self.init(span: bytes.span.bytes) }

    /// As `init(bytes:)`, from borrowed octets.
    @inlinable public init(span: borrowing RawSpan) throws(PDUError) {
        var reader = ByteReader(copy span)
        let opcode = try reader.u8("Opcode")
        guard opcode == Self.opcode else {
            throw PDUError(pdu: Self.name, field: "Opcode", offset: 0, problem: .otherPDU(code: Int(opcode)))
        }
        self = try Self.readAll(&reader)
    }
}

/// A link-layer control PDU without the data channel header. Core Vol 6, Part B, 2.4.2.
public protocol LLControlPDU: OpcodedPDU {}
/// An attribute protocol PDU. Core Vol 3, Part F, 3.3.
public protocol ATTPDU: OpcodedPDU {}
/// A security manager command. Core Vol 3, Part H, 3.3.
public protocol SMPPDU: OpcodedPDU {}

/// A PDU of a protocol on a channel of BR/EDR. The opcode is as `ChannelHeader` has it.
public protocol ChannelPDU: PDU {
    static var opcode: UInt16 { get }
}

/// An L2CAP signalling command: code, identifier, length, then the parameters. Core Vol 3, Part A, 4.
public protocol L2CAPSignalingPDU: PDU {
    static var opcode: UInt8 { get }
}

extension L2CAPSignalingPDU {
    /// The command with its header.
    public func bytes(identifier: UInt8) -> [UInt8] {
        let parameters = parameters
        var writer = ByteWriter(reserving: 4 + parameters.count)
        writer.u8(Self.opcode)
        writer.u8(identifier)
        writer.u16(UInt16(truncatingIfNeeded: parameters.count))
        writer.bytes(parameters)
        return writer.bytes
    }
}
