import BBPackets

/// A decoded I-frame or S-frame. Core Vol 3, Part A, 3.3.
public struct RetransmissionFrame: Sendable, Equatable {
    public var control: FrameControl
    /// Present in the first of several segments.
    public var sduLength: UInt16?
    public var octets: ArraySlice<UInt8> = []
}

/// Encodes and decodes a channel's frames, with its type of control field and optional FCS. Core Vol 3, Part A, 3.3.
public struct RetransmissionFraming: Sendable {
    public let localCID: UInt16
    public let remoteCID: UInt16
    public let hasCheckSequence: Bool
    public let isExtended: Bool
    /// Faults of a mutant.
    public var faults = FrameFaults()

    public init(localCID: UInt16, remoteCID: UInt16, hasCheckSequence: Bool, isExtended: Bool = false) {
        (self.localCID, self.remoteCID) = (localCID, remoteCID)
        (self.hasCheckSequence, self.isExtended) = (hasCheckSequence, isExtended)
    }

    /// Returns the PDU without its basic header.
    public func encode(_ control: FrameControl, _ segment: SDUSegment? = nil) -> [UInt8] {
        var writer = ByteWriter(reserving: 8 + (segment?.octets.count ?? 0))
        let control = faults.change(control)
        let reserved = faults.reserved(control, isExtended: isExtended)
        if isExtended {
            writer.u32(control.extended | reserved)
        } else {
            writer.u16(control.standard | UInt16(truncatingIfNeeded: reserved))
        }
        if let length = segment?.sduLength { writer.u16(length) }
        if let segment { writer.bytes(segment.octets) }
        guard hasCheckSequence else { return writer.bytes }
        writer.u16(L2CAPFrameCheckSequence.of(writer.bytes, on: remoteCID))
        return writer.bytes
    }

    /// Decodes a frame; returns nil for a corrupted or short one, which is ignored. Core Vol 3, Part A, 3.3.7.
    public func decode(_ pdu: [UInt8]) -> RetransmissionFrame? {
        var body = pdu[...]
        if hasCheckSequence {
            guard pdu.count >= L2CAPFrameCheckSequence.octets else { return nil }
            body = pdu.dropLast(L2CAPFrameCheckSequence.octets)
            let check = L2CAPFrameCheckSequence.of(body, on: localCID)
            let isRight = UInt16(pdu[pdu.count - 2]) | UInt16(pdu[pdu.count - 1]) << 8 == check
            guard isRight || faults.ignoresCheck else { return nil }
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
