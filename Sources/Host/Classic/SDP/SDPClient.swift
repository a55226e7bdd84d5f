import BBPackets

/// A query of a client.
public enum SDPQuery: Sendable, Hashable {
    case search([BluetoothUUID])
    case attributes(UInt32, [SDPAttributeRange])
    case searchAttributes([BluetoothUUID], [SDPAttributeRange])
}

/// Result of a query.
public enum SDPResult: Sendable, Hashable {
    case handles([UInt32])
    case records([SDPRecord])
}

/// Reason for a failed query.
public enum SDPFailure: Error, Sendable, Hashable {
    case refused(SDPErrorCode)
    /// The response is malformed, or is for another request.
    case malformed
    /// More octets or parts than any record needs, or empty parts.
    case endless
    case timedOut
}

public enum SDPClientAction: Sendable, Hashable {
    case send([UInt8])
    case finished(Result<SDPResult, SDPFailure>)
}

/// The client: one request at a time, with reassembly of partial responses. Core Vol 3, Part B, 4.3.
public struct SDPClient: Sendable {
    /// Timeout of a response; the specification does not define one.
    public static let timeOut = Microseconds.seconds(30)
    static let octetLimit = 0x10000
    static let partLimit = 1_024

    private enum State {
        case idle
        case awaitResponse(Progress)
    }

    private struct Progress {
        var query: SDPQuery
        var parts = 1
        var handles: [UInt32] = []
        var octets: [UInt8] = []
    }

    private var state = State.idle
    private var transaction: UInt16 = 0
    /// MaximumAttributeByteCount of requests.
    public var maximumOctets: UInt16
    /// Time at which to call `expire`.
    public private(set) var deadline: Microseconds?

    public init(maximumOctets: UInt16 = 0xFFFF) {
        self.maximumOctets = max(SDP.ServiceAttributeReq.maximumAttributeByteCountRange.lowerBound, maximumOctets)
    }

    public var isBusy: Bool { if case .awaitResponse = state { true } else { false } }

    /// Sends a request, unless one is pending.
    public mutating func start(_ query: SDPQuery, at now: Microseconds) -> [SDPClientAction] {
        guard !isBusy else { return [] }
        return ask(Progress(query: query), continuation: [], at: now)
    }

    /// Handles a PDU from the server. Responses to other transactions are ignored.
    public mutating func receive(_ octets: [UInt8], at now: Microseconds) -> [SDPClientAction] {
        guard case .awaitResponse(let progress) = state, SDPPDU.transaction(of: octets) == transaction else { return [] }
        guard let pdu = try? SDPPDU(octets) else { return finish(.failure(.malformed)) }
        var next = progress
        switch (pdu.message, progress.query) {
        case (.errorRsp(let response), _): return finish(.failure(.refused(response.errorCode)))
        case (.serviceSearchRsp(let response), .search):
            next.handles += response.serviceRecordHandleList
            return continueWith(next, response.continuationState, hasMore: !response.serviceRecordHandleList.isEmpty, at: now)
        case (.serviceAttributeRsp(let response), .attributes):
            next.octets += response.attributeList
            return continueWith(next, response.continuationState, hasMore: !response.attributeList.isEmpty, at: now)
        case (.serviceSearchAttributeRsp(let response), .searchAttributes):
            next.octets += response.attributeLists
            return continueWith(next, response.continuationState, hasMore: !response.attributeLists.isEmpty, at: now)
        default: return finish(.failure(.malformed))
        }
    }

    /// Handles the expired deadline.
    public mutating func expire() -> [SDPClientAction] { isBusy ? finish(.failure(.timedOut)) : [] }

    // MARK: Partial responses

    private mutating func ask(_ progress: Progress, continuation: [UInt8], at now: Microseconds) -> [SDPClientAction] {
        transaction &+= 1
        state = .awaitResponse(progress)
        deadline = now + Self.timeOut
        let message: SDP.Message =
            switch progress.query {
            case .search(let pattern):
                .serviceSearchReq(
                    SDP.ServiceSearchReq(
                        serviceSearchPattern: SDPPattern.element(pattern), maximumServiceRecordCount: 0xFFFF,
                        continuationState: continuation))
            case .attributes(let handle, let ranges):
                .serviceAttributeReq(
                    SDP.ServiceAttributeReq(
                        serviceRecordHandle: handle, maximumAttributeByteCount: maximumOctets,
                        attributeIDList: SDPAttributeRange.element(ranges), continuationState: continuation))
            case .searchAttributes(let pattern, let ranges):
                .serviceSearchAttributeReq(
                    SDP.ServiceSearchAttributeReq(
                        serviceSearchPattern: SDPPattern.element(pattern), maximumAttributeByteCount: maximumOctets,
                        attributeIDList: SDPAttributeRange.element(ranges), continuationState: continuation))
            }
        return [.send(SDPPDU(message, transaction: transaction).octets)]
    }

    private mutating func continueWith(
        _ progress: Progress, _ continuation: [UInt8], hasMore: Bool, at now: Microseconds
    ) -> [SDPClientAction] {
        guard !continuation.isEmpty else { return finish(Self.result(of: progress)) }
        let octets = progress.octets.count + 4 * progress.handles.count
        guard hasMore, octets <= Self.octetLimit, progress.parts < Self.partLimit else { return finish(.failure(.endless)) }
        var progress = progress
        progress.parts += 1
        return ask(progress, continuation: continuation, at: now)
    }

    private mutating func finish(_ result: Result<SDPResult, SDPFailure>) -> [SDPClientAction] {
        state = .idle
        deadline = nil
        return [.finished(result)]
    }

    private static func result(of progress: Progress) -> Result<SDPResult, SDPFailure> {
        if case .search = progress.query { return .success(.handles(progress.handles)) }
        var reader = ByteReader(progress.octets.span.bytes)
        guard let element = try? SDPDataElement(from: &reader), reader.remaining == 0 else { return .failure(.malformed) }
        let lists: [SDPDataElement]
        if case .attributes = progress.query {
            lists = [element]
        } else if case .sequence(let elements) = element {
            lists = elements
        } else {
            return .failure(.malformed)
        }
        let records = lists.compactMap(SDPRecord.init(list:))
        return records.count == lists.count ? .success(.records(records)) : .failure(.malformed)
    }
}
