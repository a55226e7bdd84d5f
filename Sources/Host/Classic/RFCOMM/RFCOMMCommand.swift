import BBPackets

/// Values of DLC parameter negotiation. RFCOMM 1.2, 5.5.3.
enum RFCOMMParameters {
    /// CL: credit-based flow control requested or accepted. RFCOMM 1.2, table 5.3.
    static let asksForCredits: UInt8 = 0xF
    static let grantsCredits: UInt8 = 0xE
    static let defaultFrameSize = 127
    /// N1: octets of information in a frame.
    static let frameSizes = RFCOMM.PNCmd.maximumFrameSizeRange.integers
    static let mostInitialCredits = 7
}

/// V.24 signals of a modem status command. TS 07.10, 5.4.6.3.7.
public struct RFCOMMSignals: OptionSet, Sendable, Hashable {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// FC: the device cannot receive frames.
    public static let flowControl = RFCOMMSignals(rawValue: 1 << 1)
    public static let readyToCommunicate = RFCOMMSignals(rawValue: 1 << 2)
    public static let readyToReceive = RFCOMMSignals(rawValue: 1 << 3)
    public static let incomingCall = RFCOMMSignals(rawValue: 1 << 6)
    public static let dataValid = RFCOMMSignals(rawValue: 1 << 7)
    public static let ready: RFCOMMSignals = [.readyToCommunicate, .readyToReceive, .dataValid]
}

/// Settings of a serial port. TS 07.10, 5.4.6.3.9.
public struct RFCOMMPortSettings: Sendable, Hashable {
    public var baudRate: UInt8
    /// Data bits, stop bits and parity.
    public var format: UInt8
    public var flowControl: UInt8
    public var xon: UInt8
    public var xoff: UInt8
    /// Parameters that a command sets, or that a response has accepted.
    public var mask: UInt16

    /// 9600 bit/s, 8 data bits, 1 stop bit, no parity, no flow control.
    public static let standard = RFCOMMPortSettings(baudRate: 3, format: 3, flowControl: 0, xon: 0x11, xoff: 0x13, mask: 0x3F7F)

    public init(baudRate: UInt8, format: UInt8, flowControl: UInt8, xon: UInt8, xoff: UInt8, mask: UInt16) {
        (self.baudRate, self.format, self.flowControl) = (baudRate, format, flowControl)
        (self.xon, self.xoff, self.mask) = (xon, xoff, mask)
    }

    /// Decodes the settings, of which a remote port negotiation has either all or none.
    fileprivate init(_ octets: [UInt8]) throws(PDUError) {
        var reader = ByteReader(octets.span.bytes)
        baudRate = try reader.u8("Baud Rate")
        format = try reader.u8("Format")
        flowControl = try reader.u8("Flow Control")
        xon = try reader.u8("XON")
        xoff = try reader.u8("XOFF")
        mask = try reader.u16("Parameter Mask")
        guard reader.remaining == 0 else { throw PDUError(field: "", offset: reader.offset, problem: .trailing(reader.remaining)) }
    }

    fileprivate var octets: [UInt8] {
        [baudRate, format, flowControl, xon, xoff, UInt8(truncatingIfNeeded: mask), UInt8(truncatingIfNeeded: mask >> 8)]
    }
}

/// A multiplexer message on DLCI 0. TS 07.10, 5.4.6.3; RFCOMM 1.2, 4.3.
public enum RFCOMMCommand: Sendable, Equatable {
    case parameterNegotiation(RFCOMM.PNCmd)
    case test([UInt8])
    case flowControlOn
    case flowControlOff
    case modemStatus(dlci: UInt8, RFCOMMSignals, breakSignal: UInt8? = nil)
    /// A request for the settings if nil.
    case remotePortNegotiation(dlci: UInt8, RFCOMMPortSettings?)
    case remoteLineStatus(dlci: UInt8, UInt8)
    /// The unknown type field.
    case notSupported(UInt8)

    /// C/R in the type octet: set in a command, clear in its response.
    private static let commandBit: UInt16 = 2

    /// The type octet of the command, which identifies the message.
    var type: UInt16 {
        switch self {
        case .parameterNegotiation: RFCOMM.PNCmd.opcode
        case .test: RFCOMM.TestCmd.opcode
        case .flowControlOn: RFCOMM.FCONCmd.opcode
        case .flowControlOff: RFCOMM.FCOFFCmd.opcode
        case .modemStatus: RFCOMM.MSCCmd.opcode
        case .remotePortNegotiation: RFCOMM.RPNCmd.opcode
        case .remoteLineStatus: RFCOMM.RLSCmd.opcode
        case .notSupported: RFCOMM.NSCRsp.opcode | Self.commandBit
        }
    }

    /// Returns the type octet of the command, for a command or its response.
    static func type(of octet: UInt8) -> UInt16 { UInt16(octet) | commandBit }

    /// The connection that the message refers to.
    var dlci: UInt8? {
        switch self {
        case .parameterNegotiation(let parameters): parameters.dlci
        case .modemStatus(let dlci, _, _), .remotePortNegotiation(let dlci, _), .remoteLineStatus(let dlci, _): dlci
        case .test, .flowControlOn, .flowControlOff, .notSupported: nil
        }
    }
}

/// A message with its header: type, length and value.
struct RFCOMMMessage {
    /// The type octet with EA and C/R.
    var type: UInt8
    var value: [UInt8]

    var isCommand: Bool { type & 2 != 0 }

    /// The messages of one UIH frame, up to the first malformed one.
    static func all(in information: [UInt8]) -> [RFCOMMMessage] {
        var reader = ByteReader(information.span.bytes)
        var messages: [RFCOMMMessage] = []
        while reader.remaining > 0, let message = try? next(&reader) { messages.append(message) }
        return messages
    }

    private static func next(_ reader: inout ByteReader) throws(PDUError) -> RFCOMMMessage {
        let type = try reader.u8("Type")
        guard type & 1 == 1 else { throw PDUError(field: "Type", offset: reader.offset - 1, problem: .value("no EA bit")) }
        let length = try reader.extensibleLength("Length")
        return RFCOMMMessage(type: type, value: try reader.bytes(length, "Value"))
    }
}

// MARK: Codec

extension RFCOMMCommand {
    /// - Returns: nil for a type that RFCOMM does not define, which is answered with NSC.
    init?(_ message: RFCOMMMessage) throws(PDUError) {
        let value = message.value
        switch Self.type(of: message.type) {
        case RFCOMM.PNCmd.opcode: self = .parameterNegotiation(try RFCOMM.PNCmd(parameters: value))
        case RFCOMM.TestCmd.opcode: self = .test(value)
        case RFCOMM.FCONCmd.opcode: self = .flowControlOn
        case RFCOMM.FCOFFCmd.opcode: self = .flowControlOff
        case RFCOMM.MSCCmd.opcode:
            let status = try RFCOMM.MSCCmd(parameters: value)
            guard status.breakSignal.count <= 1 else {
                throw PDUError(pdu: RFCOMM.MSCCmd.name, field: "", offset: 3, problem: .trailing(status.breakSignal.count - 1))
            }
            self = .modemStatus(dlci: status.dlci, status.signals, breakSignal: status.breakSignal.first)
        case RFCOMM.RPNCmd.opcode:
            let port = try RFCOMM.RPNCmd(parameters: value)
            self = .remotePortNegotiation(dlci: port.dlci, port.portSettings.isEmpty ? nil : try RFCOMMPortSettings(port.portSettings))
        case RFCOMM.RLSCmd.opcode:
            let line = try RFCOMM.RLSCmd(parameters: value)
            self = .remoteLineStatus(dlci: line.dlci, line.lineStatus)
        case RFCOMM.NSCRsp.opcode | Self.commandBit: self = .notSupported(try RFCOMM.NSCRsp(parameters: value).commandType)
        default: return nil
        }
    }

    /// The information field of a UIH frame on DLCI 0.
    func octets(isCommand: Bool) -> [UInt8] {
        let value = parameters
        var writer = ByteWriter(reserving: 3 + value.count)
        writer.u8(UInt8(truncatingIfNeeded: isCommand ? type : type & ~Self.commandBit))
        writer.extensibleLength(value.count)
        writer.bytes(value)
        return writer.bytes
    }

    /// The value, which is the same in a command and in its response.
    private var parameters: [UInt8] {
        switch self {
        case .parameterNegotiation(let parameters): parameters.parameters
        case .test(let octets): octets
        case .flowControlOn, .flowControlOff: []
        case .modemStatus(let dlci, let signals, let breakSignal):
            RFCOMM.MSCCmd(dlci, signals, breakSignal: breakSignal.map { [$0] } ?? []).parameters
        case .remotePortNegotiation(let dlci, let settings):
            RFCOMM.RPNCmd(ea: true, cr: true, dlci: dlci, portSettings: settings?.octets ?? []).parameters
        case .remoteLineStatus(let dlci, let status): RFCOMM.RLSCmd(ea: true, cr: true, dlci: dlci, lineStatus: status).parameters
        case .notSupported(let type): RFCOMM.NSCRsp(commandType: type).parameters
        }
    }
}

extension RFCOMM.MSCCmd {
    fileprivate init(_ dlci: UInt8, _ signals: RFCOMMSignals, breakSignal: [UInt8]) {
        self.init(
            ea: true, cr: true, dlci: dlci, eaOfSignals: breakSignal.isEmpty, fc: signals.contains(.flowControl),
            rtc: signals.contains(.readyToCommunicate), rtr: signals.contains(.readyToReceive), ic: signals.contains(.incomingCall),
            dv: signals.contains(.dataValid), breakSignal: breakSignal)
    }

    fileprivate var signals: RFCOMMSignals {
        let bits: [(Bool, RFCOMMSignals)] = [
            (fc, .flowControl), (rtc, .readyToCommunicate), (rtr, .readyToReceive), (ic, .incomingCall), (dv, .dataValid),
        ]
        return bits.reduce(into: []) { if $1.0 { $0.insert($1.1) } }
    }
}
