import Packets

/// Parameters of DLC parameter negotiation (PN). TS 07.10, 5.4.6.3.1; RFCOMM 1.2, 5.5.3.
public struct RFCOMMParameters: Sendable, Hashable {
    public var dlci: UInt8
    /// CL: 0xF requests credit-based flow control, 0xE accepts it. RFCOMM 1.2, table 5.3.
    public var convergenceLayer: UInt8
    public var priority: UInt8 = 0
    /// N1: maximum octets of information in a frame, 23...32767.
    public var frameSize: UInt16
    /// K: 0...7.
    public var initialCredits: UInt8

    public static let asksForCredits: UInt8 = 0xF
    public static let grantsCredits: UInt8 = 0xE
    public static let defaultFrameSize = 127
    public static let leastFrameSize = 23
    public static let mostFrameSize = 32_767
    public static let mostInitialCredits = 7

    public init(dlci: UInt8, convergenceLayer: UInt8, priority: UInt8 = 0, frameSize: UInt16, initialCredits: UInt8) {
        (self.dlci, self.convergenceLayer, self.priority) = (dlci, convergenceLayer, priority)
        (self.frameSize, self.initialCredits) = (frameSize, initialCredits)
    }
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
}

/// A multiplexer message on DLCI 0. TS 07.10, 5.4.6.3; RFCOMM 1.2, 4.3.
public enum RFCOMMCommand: Sendable, Hashable {
    case parameterNegotiation(RFCOMMParameters)
    case test([UInt8])
    case flowControlOn
    case flowControlOff
    case modemStatus(dlci: UInt8, RFCOMMSignals, breakSignal: UInt8? = nil)
    /// A request for the settings if nil.
    case remotePortNegotiation(dlci: UInt8, RFCOMMPortSettings?)
    case remoteLineStatus(dlci: UInt8, UInt8)
    /// The unknown type field.
    case notSupported(UInt8)

    /// The six bits of the type field above EA and C/R.
    enum Kind: UInt8, Sendable, CaseIterable {
        case parameterNegotiation = 0x80
        case test = 0x20
        case flowControlOn = 0xA0
        case flowControlOff = 0x60
        case modemStatus = 0xE0
        case remotePortNegotiation = 0x90
        case remoteLineStatus = 0x50
        case notSupported = 0x10
    }

    var kind: Kind {
        switch self {
        case .parameterNegotiation: .parameterNegotiation
        case .test: .test
        case .flowControlOn: .flowControlOn
        case .flowControlOff: .flowControlOff
        case .modemStatus: .modemStatus
        case .remotePortNegotiation: .remotePortNegotiation
        case .remoteLineStatus: .remoteLineStatus
        case .notSupported: .notSupported
        }
    }

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
        guard let kind = Kind(rawValue: message.type & 0xFC) else { return nil }
        var reader = ByteReader(message.value.span.bytes)
        switch kind {
        case .parameterNegotiation: self = .parameterNegotiation(try RFCOMMParameters(&reader))
        case .test: self = .test(reader.rest())
        case .flowControlOn: self = .flowControlOn
        case .flowControlOff: self = .flowControlOff
        case .modemStatus:
            let dlci = try reader.u8("DLCI") >> 2
            let signals = RFCOMMSignals(rawValue: try reader.u8("V.24 Signals") & ~1)
            self = .modemStatus(dlci: dlci, signals, breakSignal: reader.remaining > 0 ? try reader.u8("Break Signal") : nil)
        case .remotePortNegotiation:
            let dlci = try reader.u8("DLCI") >> 2
            self = .remotePortNegotiation(dlci: dlci, reader.remaining > 0 ? try RFCOMMPortSettings(&reader) : nil)
        case .remoteLineStatus:
            let dlci = try reader.u8("DLCI") >> 2
            self = .remoteLineStatus(dlci: dlci, try reader.u8("Line Status"))
        case .notSupported: self = .notSupported(try reader.u8("Command Type"))
        }
        guard reader.remaining == 0 || kind == .flowControlOn || kind == .flowControlOff else {
            throw PDUError(field: "", offset: reader.offset, problem: .trailing(reader.remaining))
        }
    }

    /// The information field of a UIH frame on DLCI 0.
    func octets(isCommand: Bool) -> [UInt8] {
        var value = ByteWriter()
        encode(into: &value)
        var writer = ByteWriter(reserving: 3 + value.bytes.count)
        writer.u8(kind.rawValue | (isCommand ? 2 : 0) | 1)
        writer.extensibleLength(value.bytes.count)
        writer.bytes(value.bytes)
        return writer.bytes
    }

    private func encode(into writer: inout ByteWriter) {
        switch self {
        case .parameterNegotiation(let parameters): parameters.encode(into: &writer)
        case .test(let octets): writer.bytes(octets)
        case .flowControlOn, .flowControlOff: break
        case .modemStatus(let dlci, let signals, let breakSignal):
            writer.u8(dlci << 2 | 3)
            writer.u8(signals.rawValue | (breakSignal == nil ? 1 : 0))
            if let breakSignal { writer.u8(breakSignal) }
        case .remotePortNegotiation(let dlci, let settings):
            writer.u8(dlci << 2 | 3)
            settings?.encode(into: &writer)
        case .remoteLineStatus(let dlci, let status):
            writer.u8(dlci << 2 | 3)
            writer.u8(status)
        case .notSupported(let type): writer.u8(type)
        }
    }
}

extension RFCOMMParameters {
    fileprivate init(_ reader: inout ByteReader) throws(PDUError) {
        dlci = try reader.u8("DLCI") & 0x3F
        convergenceLayer = try reader.u8("I and CL") >> 4
        priority = try reader.u8("Priority") & 0x3F
        // T1 and N2 are not negotiated. RFCOMM 1.2, table 5.2.
        try reader.skip(1, "T1")
        frameSize = try reader.u16("N1")
        try reader.skip(1, "N2")
        initialCredits = try reader.u8("K") & 7
    }

    fileprivate func encode(into writer: inout ByteWriter) {
        writer.u8(dlci & 0x3F)
        writer.u8(convergenceLayer << 4)
        writer.u8(priority & 0x3F)
        writer.u8(0)
        writer.u16(frameSize)
        writer.u8(0)
        writer.u8(initialCredits & 7)
    }
}

extension RFCOMMPortSettings {
    fileprivate init(_ reader: inout ByteReader) throws(PDUError) {
        baudRate = try reader.u8("Baud Rate")
        format = try reader.u8("Format")
        flowControl = try reader.u8("Flow Control")
        xon = try reader.u8("XON")
        xoff = try reader.u8("XOFF")
        mask = try reader.u16("Parameter Mask")
    }

    fileprivate func encode(into writer: inout ByteWriter) {
        writer.u8(baudRate)
        writer.u8(format)
        writer.u8(flowControl)
        writer.u8(xon)
        writer.u8(xoff)
        writer.u16(mask)
    }
}
