import BBPackets
import DequeModule

/// LLID: the two low bits of a data channel PDU header. Core Vol 6, Part B, 2.4.
enum LLID {
    static let reserved: UInt8 = 0
    static let continuation: UInt8 = 1
    static let start: UInt8 = 2
    static let control: UInt8 = 3
}

/// A PDU with a sequence number, which is sent until it is acknowledged.
struct OutgoingPDU {
    enum Kind {
        case empty
        case data(endsPacket: Bool)
        case control(opcode: UInt8)
    }

    var llid: UInt8
    var payload: ArraySlice<UInt8>
    var kind: Kind
    /// The payload before encryption; nil if sent unencrypted.
    var clear: ArraySlice<UInt8>?
    /// Sent unencrypted even on an encrypted link, as an injected fault.
    var isForcedClear = false
    /// Names the instant of a change, which is settled when the PDU is sent.
    var isAnnouncement = false

    static let empty = OutgoingPDU(llid: LLID.continuation, payload: [], kind: .empty)
}

/// Data that a link has to send: control PDUs first, then HCI ACL packets, fragmented to the current maximum PDU length.
///
/// Each ACL packet is fragmented by itself, so packet boundaries set by the host are kept.
struct TransmitQueue {
    private struct Packet {
        var rest: ArraySlice<UInt8>
        var isStart: Bool
    }

    private var packets = Deque<Packet>()
    private var control = Deque<OutgoingPDU>()
    /// Holds back data, as encryption procedures require.
    var isDataHeld = false

    var isEmpty: Bool { control.isEmpty && (packets.isEmpty || isDataHeld) }
    var hasControl: Bool { !control.isEmpty }
    /// True if the next PDU names an instant.
    var hasAnnouncement: Bool { control.first?.isAnnouncement ?? false }
    /// Number of ACL packets not yet fragmented completely.
    var packetCount: Int { packets.count }

    mutating func append(_ data: ArraySlice<UInt8>, isStart: Bool) { packets.append(Packet(rest: data, isStart: isStart)) }
    mutating func append(control pdu: [UInt8], inClear: Bool, isAnnouncement: Bool = false) {
        let kind = OutgoingPDU.Kind.control(opcode: pdu.first ?? 0xFF)
        control.append(
            OutgoingPDU(
                llid: LLID.control, payload: pdu[...], kind: kind, isForcedClear: inClear, isAnnouncement: isAnnouncement))
    }
    /// Changes the next PDU, a control PDU.
    mutating func change(_ change: (ArraySlice<UInt8>) -> ArraySlice<UInt8>) {
        if !control.isEmpty { control[0].payload = change(control[0].payload) }
    }
    mutating func removeAll() {
        packets.removeAll()
        control.removeAll()
    }

    /// Payload length that `next(limit:)` would return; 0 if the queue is empty.
    func nextLength(limit: Int) -> Int {
        if let first = control.first { return first.payload.count }
        guard !isDataHeld, let first = packets.first else { return 0 }
        return min(first.rest.count, limit)
    }

    /// Takes the next PDU.
    ///
    /// - Parameter limit: maximum data octets of a PDU.
    mutating func next(limit: Int) -> OutgoingPDU? {
        if let pdu = control.popFirst() { return pdu }
        guard !isDataHeld, let first = packets.first else { return nil }
        let llid = first.isStart ? LLID.start : LLID.continuation
        if first.rest.count <= limit {
            packets.removeFirst()
            return OutgoingPDU(llid: llid, payload: first.rest, kind: .data(endsPacket: true))
        }
        packets[0].rest = first.rest.dropFirst(limit)
        packets[0].isStart = false
        return OutgoingPDU(llid: llid, payload: first.rest.prefix(limit), kind: .data(endsPacket: false))
    }
}
