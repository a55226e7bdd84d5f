import Packets

/// The part of an SDU in an I-frame.
struct SDUSegment: Equatable {
    var kind = SegmentKind.unsegmented
    /// Present in the first of several segments.
    var sduLength: UInt16?
    var octets: ArraySlice<UInt8>
}

/// A decoded I-frame or S-frame. Core Vol 3, Part A, 3.3.
struct RetransmissionFrame: Equatable {
    var control: FrameControl
    /// Present in the I-frame that starts an SDU.
    var sduLength: UInt16?
    var octets: ArraySlice<UInt8> = []
}

/// Encodes and decodes a channel's frames, with its type of control field and optional FCS. Core Vol 3, Part A, 3.3.
struct RetransmissionFraming {
    let localCID: UInt16
    let remoteCID: UInt16
    let hasCheckSequence: Bool
    let isExtended: Bool
    private let quirks: ChannelQuirks

    init(_ terms: ChannelTerms) {
        localCID = terms.localCID
        remoteCID = terms.remoteCID
        hasCheckSequence = terms.usesFrameCheckSequence
        isExtended = terms.usesExtendedControl
        quirks = terms.quirks
    }

    /// Returns the PDU without its basic header.
    func encode(_ control: FrameControl, _ segment: SDUSegment? = nil) -> [UInt8] {
        var writer = ByteWriter(reserving: 8 + (segment?.octets.count ?? 0))
        let control = quirks.repeatsSequence ? control.unnumbered : control
        if isExtended { writer.u32(control.extended) } else { writer.u16(control.standard) }
        if let length = segment?.sduLength { writer.u16(length) }
        if let segment { writer.bytes(segment.octets) }
        guard hasCheckSequence else { return writer.bytes }
        let length = UInt16(truncatingIfNeeded: writer.bytes.count + L2CAPFrameCheckSequence.octets)
        writer.u16(L2CAPFrameCheckSequence.of(L2CAPHeader(length: length, channel: remoteCID), writer.bytes))
        return writer.bytes
    }

    /// Decodes a frame; returns nil for a corrupted or short one, which is ignored. Core Vol 3, Part A, 3.3.7.
    func decode(_ pdu: [UInt8]) -> RetransmissionFrame? {
        var body = pdu[...]
        if hasCheckSequence {
            guard pdu.count >= L2CAPFrameCheckSequence.octets else { return nil }
            body = pdu.dropLast(L2CAPFrameCheckSequence.octets)
            let header = L2CAPHeader(length: UInt16(truncatingIfNeeded: pdu.count), channel: localCID)
            let check = L2CAPFrameCheckSequence.of(header, body)
            let isRight = UInt16(pdu[pdu.count - 2]) | UInt16(pdu[pdu.count - 1]) << 8 == check
            guard isRight || quirks.ignoresFrameCheck else { return nil }
        }
        let control = take(isExtended ? 4 : 2, of: &body).map {
            isExtended ? FrameControl(extended: $0) : FrameControl(standard: UInt16(truncatingIfNeeded: $0))
        }
        guard let control else { return nil }
        var frame = RetransmissionFrame(control: control)
        switch control {
        case .supervisory:
            // An S-frame has no further fields.
            return body.isEmpty ? frame : nil
        case .information(.start, _, _, _):
            guard let length = take(2, of: &body) else { return nil }
            frame.sduLength = UInt16(truncatingIfNeeded: length)
        case .information: break
        }
        frame.octets = body
        return frame
    }

    private func take(_ count: Int, of body: inout ArraySlice<UInt8>) -> UInt32? {
        guard body.count >= count else { return nil }
        let value = body.prefix(count).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        body = body.dropFirst(count)
        return value
    }
}

/// Segmentation and reassembly of SDUs. Core Vol 3, Part A, 7.3.
struct SDUReassembly {
    enum Outcome: Equatable {
        case wait
        case sdu([UInt8])
        /// The segments do not form an SDU.
        case fault
    }

    let mtu: Int
    private var sdu: [UInt8] = []
    private var total: Int?

    init(mtu: Int) { self.mtu = mtu }

    /// - Parameter mps: the longest payload of an I-frame; the SDU length field is counted, which satisfies every reading of the limit.
    static func segments(of sdu: [UInt8], mps: Int) -> [SDUSegment] {
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

    mutating func take(_ kind: SegmentKind, _ frame: RetransmissionFrame) -> Outcome {
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
    mutating func discard() {
        sdu = []
        total = nil
    }

    private mutating func fail() -> Outcome {
        discard()
        return .fault
    }
}
