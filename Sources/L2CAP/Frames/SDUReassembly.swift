/// The part of an SDU in an I-frame.
public struct SDUSegment: Sendable, Equatable {
    public var kind = SegmentKind.unsegmented
    /// Present in the first of several segments.
    public var sduLength: UInt16?
    public var octets: ArraySlice<UInt8>

    public init(kind: SegmentKind = .unsegmented, sduLength: UInt16? = nil, octets: ArraySlice<UInt8>) {
        (self.kind, self.sduLength, self.octets) = (kind, sduLength, octets)
    }
}

/// Segmentation and reassembly of SDUs. Core Vol 3, Part A, 7.3.
public struct SDUReassembly: Sendable {
    public enum Outcome: Sendable, Equatable {
        case wait
        case sdu([UInt8])
        /// The segments do not form an SDU.
        case fault
    }

    public let mtu: Int
    private var sdu: [UInt8] = []
    private var total: Int?

    public init(mtu: Int) { self.mtu = mtu }

    /// Cuts an SDU into I-frames.
    ///
    /// - Parameter mps: the longest payload of an I-frame. It includes the SDU length field, the stricter reading of the limit.
    public static func segments(of sdu: [UInt8], mps: Int) -> [SDUSegment] {
        guard sdu.count > mps else { return [SDUSegment(octets: sdu[...])] }
        var segments: [SDUSegment] = []
        var rest = sdu[...]
        while !rest.isEmpty {
            let isFirst = segments.isEmpty
            let octets = rest.prefix(max(1, isFirst ? mps - 2 : mps))
            rest = rest.dropFirst(octets.count)
            segments.append(
                SDUSegment(
                    kind: isFirst ? .start : rest.isEmpty ? .end : .continuation,
                    sduLength: isFirst ? UInt16(truncatingIfNeeded: sdu.count) : nil, octets: octets))
        }
        return segments
    }

    public mutating func take(_ kind: SegmentKind, _ frame: RetransmissionFrame) -> Outcome {
        let isMiddle = total != nil
        switch kind {
        case .unsegmented:
            guard !isMiddle, frame.octets.count <= mtu else { return fail() }
            return .sdu(Array(frame.octets))
        case .start:
            let length = Int(frame.sduLength ?? 0)
            guard !isMiddle, length <= mtu, frame.octets.count < length else { return fail() }
            total = length
            sdu = Array(frame.octets)
            return .wait
        case .continuation, .end:
            guard let total else { return fail() }
            sdu += frame.octets
            guard kind == .end ? sdu.count == total : sdu.count < total else { return fail() }
            guard kind == .end else { return .wait }
            defer { discard() }
            return .sdu(sdu)
        }
    }

    /// Discards an incomplete SDU.
    public mutating func discard() {
        sdu = []
        total = nil
    }

    private mutating func fail() -> Outcome {
        discard()
        return .fault
    }
}
