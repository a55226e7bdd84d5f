import BBPackets

/// Reassembles L2CAP PDUs from the fragments of one direction of one link. Core Vol 3, Part A, 7.2.2.
///
/// No input makes it trap or buffer more than one PDU: invalid fragments are dropped and reported.
public struct L2CAPReassembler: Sendable {
    /// Reason why fragments do not form a PDU.
    public enum Fault: String, Sendable, Hashable {
        case continuationWithoutStart = "continuation without a start"
        case tooLong = "more octets than the L2CAP length says"
        case reservedBoundary = "reserved packet boundary flag"
    }

    public enum Action: Sendable, Equatable {
        /// The PDU is incomplete.
        case wait
        /// The fragment is a complete PDU; the payload follows its header.
        case deliverFragment(cid: UInt16)
        /// `assembled` contains the complete PDU, header first.
        case deliverAssembled(cid: UInt16)
        case drop(Fault)
    }

    private enum State: Sendable {
        case awaitStart
        case awaitHeader
        case awaitRest
    }

    private var state = State.awaitStart
    /// Octets of an incomplete PDU; the storage is reused.
    public private(set) var assembled: [UInt8] = []
    /// Number of PDUs cut off by the start of another.
    public private(set) var abandoned = 0

    public init() {}

    /// True if no PDU is incomplete.
    public var isBetweenPDUs: Bool { state == .awaitStart }

    /// Processes a fragment of a connection.
    ///
    /// - Parameter fragment: octets after the ACL header.
    public mutating func receive(boundary: ACLHeader.Boundary, _ fragment: RawSpan) -> Action {
        switch boundary {
        case .firstNonFlushable, .first: start(fragment)
        case .continuing: proceed(fragment)
        case .complete: .drop(.reservedBoundary)
        }
    }

    private mutating func start(_ fragment: RawSpan) -> Action {
        switch state {
        case .awaitStart: break
        case .awaitHeader, .awaitRest: abandoned += 1
        }
        state = .awaitStart
        if let header = L2CAPHeader(fragment) {
            let total = Int(header.length) + L2CAPHeader.octets
            if fragment.byteCount == total { return .deliverFragment(cid: header.channel) }
            if fragment.byteCount > total { return .drop(.tooLong) }
        }
        assembled.removeAll(keepingCapacity: true)
        return extend(fragment)
    }

    private mutating func proceed(_ fragment: RawSpan) -> Action {
        switch state {
        case .awaitStart: .drop(.continuationWithoutStart)
        case .awaitHeader, .awaitRest: extend(fragment)
        }
    }

    private mutating func extend(_ fragment: RawSpan) -> Action {
        fragment.withUnsafeBytes { assembled.append(contentsOf: $0) }
        guard let header = L2CAPHeader(assembled.span.bytes) else {
            state = .awaitHeader
            return .wait
        }
        let total = Int(header.length) + L2CAPHeader.octets
        if assembled.count < total {
            state = .awaitRest
            return .wait
        }
        state = .awaitStart
        guard assembled.count == total else { return .drop(.tooLong) }
        return .deliverAssembled(cid: header.channel)
    }
}
