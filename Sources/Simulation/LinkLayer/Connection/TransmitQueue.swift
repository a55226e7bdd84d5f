import DequeModule
import Packets

/// The two low bits of a data channel header. Core Vol 6, Part B, 2.4.
enum LLID {
    static let reserved: UInt8 = 0
    static let continuation: UInt8 = 1
    static let start: UInt8 = 2
    static let control: UInt8 = 3
}

/// A PDU that has a sequence number: it is sent until the other side acknowledges it.
struct OutgoingPDU {
    enum Kind {
        case empty
        case data(endsPacket: Bool)
        case control(opcode: UInt8)
    }

    var llid: UInt8
    var payload: ArraySlice<UInt8>
    var kind: Kind
    /// The payload before it was encrypted; nil where it is sent in clear.
    var clear: ArraySlice<UInt8>?
    /// Sent in clear whatever the link: a planted fault.
    var isForcedClear = false

    static let empty = OutgoingPDU(llid: LLID.continuation, payload: [], kind: .empty)
}

/// What a link has to send: control PDUs first, then the HCI ACL packets, cut to what the link can carry at the moment.
///
/// Each ACL packet is cut by itself: L2CAP fragment boundaries stay where the host put them.
struct TransmitQueue {
    private struct Packet {
        var rest: ArraySlice<UInt8>
        var isStart: Bool
    }

    private var packets = Deque<Packet>()
    private var control = Deque<OutgoingPDU>()
    /// Holds data back, as the encryption procedures must.
    var isDataHeld = false

    var isEmpty: Bool { control.isEmpty && (packets.isEmpty || isDataHeld) }
    var hasControl: Bool { !control.isEmpty }
    /// ACL packets not yet cut to the end.
    var packetCount: Int { packets.count }

    mutating func append(_ data: ArraySlice<UInt8>, isStart: Bool) { packets.append(Packet(rest: data, isStart: isStart)) }
    mutating func append(control pdu: [UInt8], inClear: Bool) {
        let kind = OutgoingPDU.Kind.control(opcode: pdu.first ?? 0xFF)
        control.append(OutgoingPDU(llid: LLID.control, payload: pdu[...], kind: kind, isForcedClear: inClear))
    }
    mutating func removeAll() {
        packets.removeAll()
        control.removeAll()
    }

    /// The payload length that `next(limit:)` would return; zero when there is nothing.
    func nextLength(limit: Int) -> Int {
        if let first = control.first { return first.payload.count }
        guard !isDataHeld, let first = packets.first else { return 0 }
        return min(first.rest.count, limit)
    }

    /// Takes the next PDU.
    ///
    /// - Parameter limit: the most data octets a PDU may carry.
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
