import BBPackets

/// The reason for rejecting a request is thrown by the server.
extension SDPErrorCode: Error {}

/// An SDP PDU: PDU ID, transaction ID, length and parameters, most significant octet first. Core Vol 3, Part B, 4.2.
public struct SDPPDU: Sendable, Equatable {
    public var transaction: UInt16
    public var message: SDP.Message

    public static let headerOctets = 5
    /// Maximum number of UUIDs in a search pattern. Core Vol 3, Part B, 4.5.1.
    public static let patternLimit = 12

    public init(_ message: SDP.Message, transaction: UInt16) {
        (self.message, self.transaction) = (message, transaction)
    }

    /// Parses a PDU; trailing octets are an error.
    public init(_ octets: [UInt8]) throws(SDPErrorCode) {
        var reader = ByteReader(octets.span.bytes)
        do {
            let code = try reader.u8("PDU ID")
            transaction = try reader.u16be("Transaction ID")
            let length = try reader.u16be("Parameter Length")
            guard Int(length) == reader.remaining else { throw SDPErrorCode.invalidPDUSize }
            message = try SDP.Message(opcode: UInt16(code), from: &reader)
            // No error code defines ErrorInfo.
            if case .errorRsp = message { _ = reader.rest() }
            guard reader.remaining == 0, message.isWellFormed else { throw SDPErrorCode.invalidSyntax }
            guard message.continuation.count <= SDP.Message.continuationLimit else { throw SDPErrorCode.invalidContinuationState }
        } catch let error as SDPErrorCode { throw error } catch let error as PDUError { throw SDPErrorCode(error) } catch {
            throw .invalidSyntax
        }
    }

    public var octets: [UInt8] {
        var parameters = ByteWriter()
        message.encode(into: &parameters)
        var writer = ByteWriter(reserving: Self.headerOctets + parameters.bytes.count)
        writer.u8(UInt8(truncatingIfNeeded: message.opcode))
        writer.u16be(transaction)
        writer.u16be(UInt16(truncatingIfNeeded: parameters.bytes.count))
        writer.bytes(parameters.bytes)
        return writer.bytes
    }

    /// Transaction ID of a PDU that may otherwise be malformed; 0 if it is missing.
    static func transaction(of octets: [UInt8]) -> UInt16 {
        octets.count >= 3 ? UInt16(octets[1]) << 8 | UInt16(octets[2]) : 0
    }
}

extension SDPErrorCode {
    /// A continuation state that is too long is reported as such, whether it is there or not.
    fileprivate init(_ error: PDUError) {
        if error.field == "Continuation_State", case .short(let needed, _) = error.problem, needed > SDP.Message.continuationLimit {
            self = .invalidContinuationState
        } else {
            self = .invalidSyntax
        }
    }
}

extension SDP.Message {
    /// Maximum octets of continuation information. Core Vol 3, Part B, 4.3.
    static let continuationLimit = Int(SDP.ServiceSearchReq.continuationLengthRange.upperBound)

    /// The continuation state; empty in a first request and in a last response.
    public var continuation: [UInt8] {
        switch self {
        case .serviceSearchReq(let pdu): pdu.continuationState
        case .serviceSearchRsp(let pdu): pdu.continuationState
        case .serviceAttributeReq(let pdu): pdu.continuationState
        case .serviceAttributeRsp(let pdu): pdu.continuationState
        case .serviceSearchAttributeReq(let pdu): pdu.continuationState
        case .serviceSearchAttributeRsp(let pdu): pdu.continuationState
        case .errorRsp, .unknown: []
        }
    }

    /// True for the PDU ID of a response. Core Vol 3, Part B, 4.2.
    static func isResponse(_ code: UInt8) -> Bool {
        let id = PDUID(.sdp, code: Int(code))
        return id.isAnswer || id.refuses != nil
    }

    /// True if the PDU is known and its counts are in their ranges.
    fileprivate var isWellFormed: Bool {
        switch self {
        case .serviceSearchReq(let pdu): SDP.ServiceSearchReq.maximumServiceRecordCountRange.contains(pdu.maximumServiceRecordCount)
        case .serviceSearchRsp(let pdu): pdu.serviceRecordHandleList.count <= pdu.totalServiceRecordCount
        case .serviceAttributeReq(let pdu): SDP.ServiceAttributeReq.maximumAttributeByteCountRange.contains(pdu.maximumAttributeByteCount)
        case .serviceSearchAttributeReq(let pdu):
            SDP.ServiceSearchAttributeReq.maximumAttributeByteCountRange.contains(pdu.maximumAttributeByteCount)
        case .errorRsp(let pdu): (1...6).contains(pdu.errorCode.rawValue)
        case .serviceAttributeRsp, .serviceSearchAttributeRsp: true
        case .unknown: false
        }
    }
}

/// The UUIDs of a search pattern. Core Vol 3, Part B, 4.5.1.
enum SDPPattern {
    static func element(_ uuids: [BluetoothUUID]) -> [UInt8] { SDPDataElement.sequence(uuids.map { .uuid($0) }).octets }

    static func uuids(_ octets: [UInt8]) throws(SDPErrorCode) -> [BluetoothUUID] {
        let elements = try SDPDataElement.sequence(in: octets)
        let uuids = elements.compactMap(\.uuid)
        guard (1...SDPPDU.patternLimit).contains(elements.count), uuids.count == elements.count else { throw .invalidSyntax }
        return uuids
    }
}

extension SDPDataElement {
    /// The elements of a sequence that the octets consist of.
    fileprivate static func sequence(in octets: [UInt8]) throws(SDPErrorCode) -> [SDPDataElement] {
        var reader = ByteReader(octets.span.bytes)
        guard case .sequence(let elements)? = try? SDPDataElement(from: &reader), reader.remaining == 0 else { throw .invalidSyntax }
        return elements
    }
}

/// A range of attribute IDs, or a single one. Core Vol 3, Part B, 4.6.1.
public struct SDPAttributeRange: Sendable, Hashable {
    public var first: UInt16
    public var last: UInt16

    public init(_ first: UInt16, _ last: UInt16) { (self.first, self.last) = (first, last) }
    public init(_ id: SDPAttributeID) { self.init(id.rawValue, id.rawValue) }

    public static let all = SDPAttributeRange(0x0000, 0xFFFF)

    public func contains(_ id: UInt16) -> Bool { first <= id && id <= last }

    static func element(_ ranges: [SDPAttributeRange]) -> [UInt8] { SDPDataElement.sequence(ranges.map(\.element)).octets }

    static func list(_ octets: [UInt8]) throws(SDPErrorCode) -> [SDPAttributeRange] {
        var ranges: [SDPAttributeRange] = []
        for element in try SDPDataElement.sequence(in: octets) { ranges.append(try SDPAttributeRange(element)) }
        return ranges
    }

    private var element: SDPDataElement {
        first == last ? .u16(first) : .u32(UInt32(first) << 16 | UInt32(last))
    }

    private init(_ element: SDPDataElement) throws(SDPErrorCode) {
        switch element {
        case .unsigned(let value, octets: 2): self.init(UInt16(truncatingIfNeeded: value), UInt16(truncatingIfNeeded: value))
        case .unsigned(let value, octets: 4) where value >> 16 <= value & 0xFFFF:
            self.init(UInt16(truncatingIfNeeded: value >> 16), UInt16(truncatingIfNeeded: value))
        default: throw .invalidSyntax
        }
    }
}
