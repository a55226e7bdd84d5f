import Packets

/// Puts L2CAP PDUs together again from the fragments of one link. Core Vol 3, Part A, 7.2.2.
///
/// Nothing a controller or a peer sends makes it trap or grow beyond one PDU: what cannot be a PDU is dropped and named.
struct L2CAPReassembler {
    /// Header: length and channel identifier.
    static let headerLength = 4

    enum Fault: String, Sendable, Hashable {
        case continuationWithoutStart = "continuation without a start"
        case startWithinPDU = "start before the last PDU was complete"
        case tooLong = "more octets than the L2CAP length says"
        case reservedBoundary = "reserved packet boundary flag"
    }

    enum Action: Equatable {
        case wait
        /// The fragment is a whole PDU: the payload follows its header.
        case deliverFragment(cid: UInt16)
        /// `assembled` holds the whole PDU, header first.
        case deliverAssembled(cid: UInt16)
        case drop(Fault)
    }

    private enum State {
        case awaitStart
        case awaitHeader
        case awaitRest(total: Int)
    }

    private var state = State.awaitStart
    /// The octets so far of a PDU in several fragments; kept for reuse.
    private(set) var assembled: [UInt8] = []
    /// A PDU that was cut off by a new start, counted for statistics.
    private(set) var abandoned = 0

    /// - Parameters:
    ///   - boundary: the Packet_Boundary_Flag, 0...3.
    ///   - fragment: the octets after the ACL header.
    mutating func receive(boundary: UInt8, _ fragment: RawSpan) -> Action {
        switch boundary {
        case 0b00, 0b10: return start(fragment)
        case 0b01: return proceed(fragment)
        default: return .drop(.reservedBoundary)
        }
    }

    private mutating func start(_ fragment: RawSpan) -> Action {
        switch state {
        case .awaitStart: break
        case .awaitHeader, .awaitRest: abandoned += 1
        }
        state = .awaitStart
        let count = fragment.byteCount
        if count >= Self.headerLength {
            let total = Int(fragment.u16(at: 0)) + Self.headerLength
            if count == total { return .deliverFragment(cid: fragment.u16(at: 2)) }
            if count > total { return .drop(.tooLong) }
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
        guard assembled.count >= Self.headerLength else {
            state = .awaitHeader
            return .wait
        }
        let total = Int(assembled[0]) | Int(assembled[1]) << 8
        return settle(total: total + Self.headerLength)
    }

    private mutating func settle(total: Int) -> Action {
        if assembled.count < total {
            state = .awaitRest(total: total)
            return .wait
        }
        state = .awaitStart
        guard assembled.count == total else { return .drop(.tooLong) }
        return .deliverAssembled(cid: UInt16(assembled[2]) | UInt16(assembled[3]) << 8)
    }
}

extension RawSpan {
    /// The little-endian number at an offset that the caller has checked.
    @inline(__always) func u16(at offset: Int) -> UInt16 {
        UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    @inline(__always) func u8(at offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    /// A copy.
    var octets: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}
