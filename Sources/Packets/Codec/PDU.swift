/// A value with one encoding.
public protocol WireValue: Sendable, Equatable {
    init(from reader: inout ByteReader) throws(PDUError)
    func encode(into writer: inout ByteWriter)
}

/// A declared PDU. Its encoding consists of its parameters; the header that identifies it (opcode, event code) belongs to the layer.
public protocol PDU: WireValue {
    /// The name in the Core Specification, without `HCI_`.
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
    /// Decodes parameters, which must have the exact length.
    @inlinable public init(parameters: [UInt8]) throws(PDUError) {
        var reader = ByteReader(parameters.span.bytes)
        self = try Self.readAll(&reader)
    }

    /// Decodes parameters that a later version of the specification may have extended: octets after the last field are ignored.
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

/// The event with which a controller first answers a command. Core Vol 4, Part E, 4.4.
public enum CommandCompletion: Sendable, Hashable {
    /// Command Status; another event contains the result.
    case status
    /// Command Complete with the return parameters.
    case complete
}

/// An HCI command. Core Vol 4, Part E, 5.4.1.
public protocol HCICommand: PDU {
    /// The return parameters of Command Complete; `NoReturn` if there are none.
    associatedtype Return: PDU
    /// OGF in the upper 6 bits, OCF in the lower 10.
    static var opcode: UInt16 { get }
    static var completion: CommandCompletion { get }
    /// Nil for vendor commands, and for the few commands that every controller supports.
    static var supportedCommandsBit: SupportedCommandsBit? { get }
    /// The LE features of which a controller needs one to support the command; empty if it needs none. Core Vol 4, Part E, 3.1.
    static var neededFeatures: LEFeatures { get }
    /// True if the first parameter is the handle of a connection.
    static var isAboutConnection: Bool { get }
    /// The connection that the command is about; nil if its first parameter is no handle.
    var connection: ConnectionHandle? { get }
    /// The HCI version that introduced the command; 0 if its features decide. Assigned numbers, 2.1.
    static var firstVersion: UInt8 { get }

    /// Checks each field separately against its declared range or values. Rules about several fields, and about supported values, are part
    /// of the controller.
    func validate() throws(IllegalValue)
}

extension HCICommand {
    public static var isAboutConnection: Bool { false }
    public var connection: ConnectionHandle? { nil }
    public static var firstVersion: UInt8 { 0 }
    public static var neededFeatures: LEFeatures { [] }
    public func validate() throws(IllegalValue) {}
}

/// An HCI event; LE subevents have the code 0x3E and a subevent code. Core Vol 4, Part E, 5.4.4.
public protocol HCIEvent: PDU {
    static var code: UInt8 { get }
    static var subevent: UInt8? { get }
    /// The bit of the event mask that disables the event.
    static var maskPosition: EventMaskPosition { get }
    /// The LE features of which a controller needs one to send the event; empty if it needs none. Core Vol 4, Part E, 3.1.
    static var neededFeatures: LEFeatures { get }
    /// The HCI version that introduced the event; 0 if its features decide. Assigned numbers, 2.1.
    static var firstVersion: UInt8 { get }
}

extension HCIEvent {
    public static var firstVersion: UInt8 { 0 }
    public static var neededFeatures: LEFeatures { [] }
}

/// A PDU that starts with its opcode.
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

    /// Decodes opcode and parameters, which must have the exact length.
    @inlinable public init(bytes: [UInt8]) throws(PDUError) { try self.init(span: bytes.span.bytes) }

    /// Decodes borrowed octets like `init(bytes:)`.
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

/// A PDU of a protocol on a BR/EDR channel. The opcode has the format of `ChannelHeader`.
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
