import BBPackets

/// The server: records, and responses to clients. Core Vol 3, Part B, 4.
///
/// It keeps no state per client: the continuation state contains the position and a digest of the request and the record revision. A
/// continuation state that is forged, belongs to another request, or is older than a change of the records is rejected.
public struct SDPServer: Sendable {
    /// Records by handle.
    public private(set) var records: [SDPRecord] = []
    private var nextHandle: UInt32 = 0x0001_0000
    /// Changes with each change of the records.
    private var revision: UInt32 = 0
    /// Maximum octets of a list per response.
    var mostListOctets = Int(UInt16.max)
    /// Injected faults.
    var quirks = ChannelQuirks()

    /// Length of a continuation state: position and digest.
    private static let stateOctets = 8

    public init() {}

    /// Adds a record and assigns its ServiceRecordHandle.
    @discardableResult
    public mutating func add(_ record: SDPRecord) -> UInt32 {
        let handle = nextHandle
        nextHandle += 1
        revision &+= 1
        var record = record
        record[.serviceRecordHandle] = .u32(handle)
        records.append(record)
        return handle
    }

    public mutating func remove(_ handle: UInt32) {
        records.removeAll { $0.handle == handle }
        revision &+= 1
    }

    /// Handles a request; nil for responses, which a client does not send.
    ///
    /// - Parameter mtu: maximum PDU length on the channel in octets, at least 48.
    public func receive(_ octets: [UInt8], mtu: Int) -> [UInt8]? {
        if let code = octets.first, SDP.Message.isResponse(code) { return nil }
        let transaction = SDPPDU.transaction(of: octets)
        do throws(SDPErrorCode) {
            let request = try SDPPDU(octets)
            return SDPPDU(try respond(to: request.message, mtu: max(48, mtu)), transaction: transaction).octets
        } catch {
            return SDPPDU(.errorRsp(SDP.ErrorRsp(errorCode: error)), transaction: transaction).octets
        }
    }

    private func respond(to message: SDP.Message, mtu: Int) throws(SDPErrorCode) -> SDP.Message {
        switch message {
        case .serviceSearchReq(let request): return .serviceSearchRsp(try search(request, mtu, digest(message)))
        case .serviceAttributeReq(let request):
            let ranges = try SDPAttributeRange.list(request.attributeIDList)
            guard let record = records.first(where: { $0.handle == request.serviceRecordHandle }) else { throw .invalidRecordHandle }
            let part = try part(
                record.list(of: ranges).octets, request.maximumAttributeByteCount, request.continuationState, mtu, digest(message))
            return .serviceAttributeRsp(SDP.ServiceAttributeRsp(attributeList: part.octets, continuationState: part.continuation))
        case .serviceSearchAttributeReq(let request):
            let ranges = try SDPAttributeRange.list(request.attributeIDList)
            // A record with none of the attributes has no list.
            let lists = try matching(request.serviceSearchPattern).map { $0.list(of: ranges) }.filter { $0.elements?.isEmpty == false }
            let part = try part(
                SDPDataElement.sequence(lists).octets, request.maximumAttributeByteCount, request.continuationState, mtu, digest(message))
            return .serviceSearchAttributeRsp(
                SDP.ServiceSearchAttributeRsp(attributeLists: part.octets, continuationState: part.continuation))
        case .errorRsp, .serviceSearchRsp, .serviceAttributeRsp, .serviceSearchAttributeRsp, .unknown: throw .invalidSyntax
        }
    }

    private func matching(_ pattern: [UInt8]) throws(SDPErrorCode) -> [SDPRecord] {
        let uuids = try SDPPattern.uuids(pattern)
        return records.filter { $0.matches(uuids) && !quirks.hidesRecords }
    }

    // MARK: Partial responses

    private func search(_ request: SDP.ServiceSearchReq, _ mtu: Int, _ digest: UInt32) throws(SDPErrorCode) -> SDP.ServiceSearchRsp {
        let handles = try matching(request.serviceSearchPattern).compactMap(\.handle).prefix(Int(request.maximumServiceRecordCount))
        let start = try position(request.continuationState, digest, end: handles.count)
        // Octets besides the handles: PDU header, two counts and the continuation state.
        let room = max(1, min(mostListOctets, mtu - SDPPDU.headerOctets - 4 - 1 - Self.stateOctets) / 4)
        let end = min(handles.count, start + room)
        return SDP.ServiceSearchRsp(
            totalServiceRecordCount: UInt16(truncatingIfNeeded: handles.count), serviceRecordHandleList: Array(handles[start..<end]),
            continuationState: end < handles.count ? state(end, digest) : [])
    }

    private func part(
        _ octets: [UInt8], _ maximum: UInt16, _ continuation: [UInt8], _ mtu: Int, _ digest: UInt32
    ) throws(SDPErrorCode) -> (octets: [UInt8], continuation: [UInt8]) {
        let start = try position(continuation, digest, end: octets.count)
        let room = min(Int(maximum), mostListOctets, mtu - SDPPDU.headerOctets - 2 - 1 - Self.stateOctets)
        let end = min(octets.count, start + room)
        return (Array(octets[start..<end]), end < octets.count ? state(end, digest) : [])
    }

    // MARK: Continuation. Core Vol 3, Part B, 4.3

    private func state(_ position: Int, _ digest: UInt32) -> [UInt8] {
        var writer = ByteWriter(reserving: Self.stateOctets)
        writer.u32be(UInt32(truncatingIfNeeded: position))
        writer.u32be(Self.hash(writer.bytes, digest))
        return writer.bytes
    }

    /// Position from the continuation state; 0 without one.
    private func position(_ continuation: [UInt8], _ digest: UInt32, end: Int) throws(SDPErrorCode) -> Int {
        guard !continuation.isEmpty, !quirks.forgetsContinuation else { return 0 }
        var reader = ByteReader(continuation.span.bytes)
        guard let position = try? reader.u32be("Position"), position > 0, position < end, continuation == state(Int(position), digest)
        else {
            throw .invalidContinuationState
        }
        return Int(position)
    }

    private static func hash(_ octets: [UInt8], _ seed: UInt32) -> UInt32 {
        octets.reduce(seed) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }

    /// FNV-1a over the record revision and the request, excluding the maximum octets per response, which may change.
    private func digest(_ request: SDP.Message) -> UInt32 {
        var asked = request
        switch request {
        case .serviceSearchReq(var pdu):
            pdu.continuationState = []
            asked = .serviceSearchReq(pdu)
        case .serviceAttributeReq(var pdu):
            (pdu.maximumAttributeByteCount, pdu.continuationState) = (0, [])
            asked = .serviceAttributeReq(pdu)
        case .serviceSearchAttributeReq(var pdu):
            (pdu.maximumAttributeByteCount, pdu.continuationState) = (0, [])
            asked = .serviceSearchAttributeReq(pdu)
        case .errorRsp, .serviceSearchRsp, .serviceAttributeRsp, .serviceSearchAttributeRsp, .unknown: break
        }
        return Self.hash(SDPPDU(asked, transaction: 0).octets, 2_166_136_261 ^ revision)
    }
}
