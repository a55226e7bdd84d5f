import BBPackets

/// An AV/C frame: a command to a subunit, or its response. AVRCP 1.6, 6.3; AV/C Digital Interface Command Set 4.0, 7.
public struct AVCFrame: Sendable, Hashable {
    /// Command types; from 8 on response codes.
    public enum Code: UInt8, Sendable, CaseIterable {
        case control = 0
        case status, specificInquiry, notify, generalInquiry
        case notImplemented = 8
        case accepted, rejected, inTransition, stable, changed
        case interim = 0xF

        public var isResponse: Bool { rawValue >= 8 }
    }

    public enum Opcode {
        public static let vendorDependent: UInt8 = 0x00
        public static let unitInfo: UInt8 = 0x30
        public static let subunitInfo: UInt8 = 0x31
        public static let passThrough: UInt8 = 0x7C
    }

    public var code: Code
    /// Subunit type, with the subunit ID in the three low bits.
    public var subunit: UInt8
    public var opcode: UInt8
    public var operands: [UInt8]

    /// The panel subunit with ID 0.
    public static let panel: UInt8 = 0x48
    /// Address of the unit itself, without a subunit.
    public static let unit: UInt8 = 0xFF

    public init(_ code: Code, subunit: UInt8 = panel, opcode: UInt8, _ operands: [UInt8] = []) {
        (self.code, self.subunit, self.opcode, self.operands) = (code, subunit, opcode, operands)
    }

    public init(_ octets: [UInt8]) throws(PDUError) {
        var reader = ByteReader(octets.span.bytes)
        let code = try reader.u8("ctype")
        guard let known = Code(rawValue: code) else { throw PDUError(field: "ctype", offset: 0, problem: .value("\(code)")) }
        self.code = known
        subunit = try reader.u8("Subunit")
        opcode = try reader.u8("Opcode")
        operands = reader.rest()
    }

    public var octets: [UInt8] { [code.rawValue, subunit, opcode] + operands }

    /// A response with the same frame header.
    func response(_ code: Code, _ operands: [UInt8]? = nil) -> AVCFrame {
        AVCFrame(code, subunit: subunit, opcode: opcode, operands ?? self.operands)
    }
}

/// Operation ID of a pass-through command. AV/C Panel Subunit 1.1, 9.4; AVRCP 1.6, 4.6.1.
public struct AVRCPKey: OpenEnum {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let volumeUp: AVRCPKey = 0x41
    public static let volumeDown: AVRCPKey = 0x42
    public static let mute: AVRCPKey = 0x43
    public static let play: AVRCPKey = 0x44
    public static let stop: AVRCPKey = 0x45
    public static let pause: AVRCPKey = 0x46
    public static let rewind: AVRCPKey = 0x48
    public static let fastForward: AVRCPKey = 0x49
    public static let forward: AVRCPKey = 0x4B
    public static let backward: AVRCPKey = 0x4C
}

/// Reason for rejecting a PDU. AVRCP 1.6, 6.15.3.
public struct AVRCPErrorCode: OpenEnum, Error {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let invalidCommand: AVRCPErrorCode = 0x00
    public static let invalidParameter: AVRCPErrorCode = 0x01
    public static let wrongLength: AVRCPErrorCode = 0x02
    public static let internalError: AVRCPErrorCode = 0x03
}
