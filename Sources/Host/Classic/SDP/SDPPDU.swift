import Packets

/// Reason for rejecting a request. Core Vol 3, Part B, 4.4.1.
public enum SDPErrorCode: UInt16, Error, Sendable, Hashable, CaseIterable {
    case invalidVersion = 1
    case invalidRecordHandle
    case invalidRequestSyntax
    case invalidPDUSize
    case invalidContinuationState
    case insufficientResources
}

/// An SDP PDU: PDU ID, transaction ID, length and parameters, most significant octet first. Core Vol 3, Part B, 4.2.
public struct SDPPDU: Sendable, Hashable {
    public var transaction: UInt16
    public var message: SDPMessage

    public static let headerOctets = 5

    public init(_ message: SDPMessage, transaction: UInt16) {
        (self.message, self.transaction) = (message, transaction)
    }
}

/// Parameters of a PDU. An attribute list stays as octets, because a part of it is not a data element.
public enum SDPMessage: Sendable, Hashable {
    case errorResponse(SDPErrorCode)
    case serviceSearchRequest(pattern: [BluetoothUUID], maximumRecords: UInt16, continuation: [UInt8])
    case serviceSearchResponse(total: UInt16, handles: [UInt32], continuation: [UInt8])
    case attributeRequest(handle: UInt32, maximumOctets: UInt16, attributes: [SDPAttributeRange], continuation: [UInt8])
    case attributeResponse(list: [UInt8], continuation: [UInt8])
    case searchAttributeRequest(
        pattern: [BluetoothUUID], maximumOctets: UInt16, attributes: [SDPAttributeRange], continuation: [UInt8])
    case searchAttributeResponse(lists: [UInt8], continuation: [UInt8])

    /// PDU ID. Core Vol 3, Part B, 4.2.
    public enum ID: UInt8, Sendable, CaseIterable {
        case errorResponse = 1
        case serviceSearchRequest, serviceSearchResponse
        case attributeRequest, attributeResponse
        case searchAttributeRequest, searchAttributeResponse

        public var isRequest: Bool { rawValue & 1 == 0 }
    }

    public var id: ID {
        switch self {
        case .errorResponse: .errorResponse
        case .serviceSearchRequest: .serviceSearchRequest
        case .serviceSearchResponse: .serviceSearchResponse
        case .attributeRequest: .attributeRequest
        case .attributeResponse: .attributeResponse
        case .searchAttributeRequest: .searchAttributeRequest
        case .searchAttributeResponse: .searchAttributeResponse
        }
    }

    /// Maximum number of UUIDs in a search pattern. Core Vol 3, Part B, 4.5.1.
    public static let patternLimit = 12
    /// Minimum MaximumAttributeByteCount. Core Vol 3, Part B, 4.6.1.
    public static let leastOctets: UInt16 = 7
    /// Maximum octets of continuation information. Core Vol 3, Part B, 4.3.
    public static let continuationLimit = 16
}

/// A range of attribute IDs, or a single one. Core Vol 3, Part B, 4.6.1.
public struct SDPAttributeRange: Sendable, Hashable {
    public var first: UInt16
    public var last: UInt16

    public init(_ first: UInt16, _ last: UInt16) { (self.first, self.last) = (first, last) }
    public init(_ id: SDPAttributeID) { self.init(id.rawValue, id.rawValue) }

    public static let all = SDPAttributeRange(0x0000, 0xFFFF)

    public func contains(_ id: UInt16) -> Bool { first <= id && id <= last }

    fileprivate var element: SDPDataElement {
        first == last ? .u16(first) : .u32(UInt32(first) << 16 | UInt32(last))
    }

    fileprivate init(_ element: SDPDataElement) throws(SDPErrorCode) {
        switch element {
        case .unsigned(let value, octets: 2): self.init(UInt16(truncatingIfNeeded: value), UInt16(truncatingIfNeeded: value))
        case .unsigned(let value, octets: 4) where value >> 16 <= value & 0xFFFF:
            self.init(UInt16(truncatingIfNeeded: value >> 16), UInt16(truncatingIfNeeded: value))
        default: throw .invalidRequestSyntax
        }
    }
}

// MARK: Decoding

extension SDPPDU {
    /// Parses a PDU; trailing octets are an error.
    public init(_ octets: [UInt8]) throws(SDPErrorCode) {
        var reader = ByteReader(octets.span.bytes)
        do {
            let code = try reader.u8("PDU ID")
            transaction = try reader.u16be("Transaction ID")
            let length = try reader.u16be("Parameter Length")
            guard Int(length) == reader.remaining else { throw SDPErrorCode.invalidPDUSize }
            guard let id = SDPMessage.ID(rawValue: code) else { throw SDPErrorCode.invalidRequestSyntax }
            message = try SDPMessage(id, &reader)
            guard reader.remaining == 0 else { throw SDPErrorCode.invalidRequestSyntax }
        } catch let error as SDPErrorCode { throw error } catch { throw .invalidRequestSyntax }
    }

    /// Transaction ID of a PDU that may otherwise be malformed; 0 if it is missing.
    static func transaction(of octets: [UInt8]) -> UInt16 {
        octets.count >= 3 ? UInt16(octets[1]) << 8 | UInt16(octets[2]) : 0
    }
}

extension SDPMessage {
    fileprivate init(_ id: ID, _ reader: inout ByteReader) throws {
        switch id {
        case .errorResponse:
            // No error code defines ErrorInfo.
            guard let code = SDPErrorCode(rawValue: try reader.u16be("ErrorCode")) else { throw SDPErrorCode.invalidRequestSyntax }
            _ = reader.rest()
            self = .errorResponse(code)
        case .serviceSearchRequest:
            let pattern = try Self.pattern(&reader)
            let maximum = try reader.u16be("MaximumServiceRecordCount")
            guard maximum > 0 else { throw SDPErrorCode.invalidRequestSyntax }
            self = .serviceSearchRequest(pattern: pattern, maximumRecords: maximum, continuation: try Self.continuation(&reader))
        case .serviceSearchResponse:
            let total = try reader.u16be("TotalServiceRecordCount")
            let count = try reader.u16be("CurrentServiceRecordCount")
            guard count <= total else { throw SDPErrorCode.invalidRequestSyntax }
            var handles: [UInt32] = []
            for _ in 0..<count { handles.append(try reader.u32be("ServiceRecordHandleList")) }
            self = .serviceSearchResponse(total: total, handles: handles, continuation: try Self.continuation(&reader))
        case .attributeRequest:
            let handle = try reader.u32be("ServiceRecordHandle")
            let maximum = try Self.maximum(&reader)
            let attributes = try Self.attributes(&reader)
            self = .attributeRequest(
                handle: handle, maximumOctets: maximum, attributes: attributes, continuation: try Self.continuation(&reader))
        case .attributeResponse:
            let list = try reader.bytes(Int(try reader.u16be("AttributeListByteCount")), "AttributeList")
            self = .attributeResponse(list: list, continuation: try Self.continuation(&reader))
        case .searchAttributeRequest:
            let pattern = try Self.pattern(&reader)
            let maximum = try Self.maximum(&reader)
            let attributes = try Self.attributes(&reader)
            self = .searchAttributeRequest(
                pattern: pattern, maximumOctets: maximum, attributes: attributes, continuation: try Self.continuation(&reader))
        case .searchAttributeResponse:
            let lists = try reader.bytes(Int(try reader.u16be("AttributeListsByteCount")), "AttributeLists")
            self = .searchAttributeResponse(lists: lists, continuation: try Self.continuation(&reader))
        }
    }

    private static func pattern(_ reader: inout ByteReader) throws -> [BluetoothUUID] {
        guard case .sequence(let elements) = try SDPDataElement(from: &reader), (1...patternLimit).contains(elements.count) else {
            throw SDPErrorCode.invalidRequestSyntax
        }
        return try elements.map {
            guard let uuid = $0.uuid else { throw SDPErrorCode.invalidRequestSyntax }
            return uuid
        }
    }

    private static func maximum(_ reader: inout ByteReader) throws -> UInt16 {
        let maximum = try reader.u16be("MaximumAttributeByteCount")
        guard maximum >= leastOctets else { throw SDPErrorCode.invalidRequestSyntax }
        return maximum
    }

    private static func attributes(_ reader: inout ByteReader) throws -> [SDPAttributeRange] {
        guard case .sequence(let elements) = try SDPDataElement(from: &reader) else { throw SDPErrorCode.invalidRequestSyntax }
        return try elements.map { try SDPAttributeRange($0) }
    }

    private static func continuation(_ reader: inout ByteReader) throws -> [UInt8] {
        let length = Int(try reader.u8("ContinuationState"))
        guard length <= continuationLimit else { throw SDPErrorCode.invalidContinuationState }
        return try reader.bytes(length, "ContinuationState")
    }
}

// MARK: Encoding

extension SDPPDU {
    public var octets: [UInt8] {
        var parameters = ByteWriter()
        message.encode(into: &parameters)
        var writer = ByteWriter(reserving: Self.headerOctets + parameters.bytes.count)
        writer.u8(message.id.rawValue)
        writer.u16be(transaction)
        writer.u16be(UInt16(truncatingIfNeeded: parameters.bytes.count))
        writer.bytes(parameters.bytes)
        return writer.bytes
    }
}

extension SDPMessage {
    fileprivate func encode(into writer: inout ByteWriter) {
        switch self {
        case .errorResponse(let code): writer.u16be(code.rawValue)
        case .serviceSearchRequest(let pattern, let maximum, let continuation):
            Self.write(pattern, &writer)
            writer.u16be(maximum)
            Self.write(continuation, &writer)
        case .serviceSearchResponse(let total, let handles, let continuation):
            writer.u16be(total)
            writer.u16be(UInt16(truncatingIfNeeded: handles.count))
            for handle in handles { writer.u32be(handle) }
            Self.write(continuation, &writer)
        case .attributeRequest(let handle, let maximum, let attributes, let continuation):
            writer.u32be(handle)
            writer.u16be(maximum)
            SDPDataElement.sequence(attributes.map(\.element)).encode(into: &writer)
            Self.write(continuation, &writer)
        case .searchAttributeRequest(let pattern, let maximum, let attributes, let continuation):
            Self.write(pattern, &writer)
            writer.u16be(maximum)
            SDPDataElement.sequence(attributes.map(\.element)).encode(into: &writer)
            Self.write(continuation, &writer)
        case .attributeResponse(let list, let continuation), .searchAttributeResponse(let list, let continuation):
            writer.u16be(UInt16(truncatingIfNeeded: list.count))
            writer.bytes(list)
            Self.write(continuation, &writer)
        }
    }

    private static func write(_ pattern: [BluetoothUUID], _ writer: inout ByteWriter) {
        SDPDataElement.sequence(pattern.map { .uuid($0) }).encode(into: &writer)
    }

    private static func write(_ continuation: [UInt8], _ writer: inout ByteWriter) {
        writer.u8(UInt8(truncatingIfNeeded: continuation.count))
        writer.bytes(continuation)
    }
}
