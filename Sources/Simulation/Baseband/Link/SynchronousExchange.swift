import Packets

/// What one end of a synchronous transport sends and takes: one payload each way in an interval. eSCO says by ARQN what has come, and repeats in its window what
/// has not. Core Vol 2, Part B, 4.3, 4.4 and 7.6.
struct SynchronousExchange {
    let parameters: SynchronousParameters
    /// Voice of the host that waits.
    private var queue: [UInt8] = []
    /// The payload of this interval.
    private var outgoing: [UInt8] = []
    /// Alternates with each interval.
    private var seqn = false
    private var isAcknowledged = false
    /// Whether the other side's payload of this interval has come.
    private(set) var hasReceived = false

    init(_ parameters: SynchronousParameters) { self.parameters = parameters }

    /// Whether nothing more is to be exchanged in this interval.
    var isDone: Bool {
        !parameters.isExtended
            || (parameters.transmitType == nil || isAcknowledged) && (parameters.receiveType == nil || hasReceived)
    }

    /// How much voice of the host is kept: what is older goes.
    private var capacity: Int { max(1_024, 16 * Int(parameters.transmitLength)) }

    mutating func append(_ voice: ArraySlice<UInt8>) {
        queue += voice
        if queue.count > capacity { queue.removeFirst(queue.count - capacity) }
    }

    /// A new interval, with the next payload: silence where the host has sent none.
    mutating func begin() {
        (isAcknowledged, hasReceived) = (false, false)
        seqn.toggle()
        let length = Int(parameters.transmitLength)
        if queue.count >= length {
            outgoing = Array(queue.prefix(length))
            queue.removeFirst(length)
        } else {
            outgoing = [UInt8](repeating: parameters.silence, count: length)
        }
    }

    /// What this side sends: its payload until it is acknowledged, or else POLL of a central and NULL of a peripheral.
    func next(isCentral: Bool) -> (type: BREDRPacketType, payload: [UInt8], arqn: Bool, seqn: Bool) {
        let isExtended = parameters.isExtended
        guard let type = parameters.transmitType, !isAcknowledged else {
            return (isCentral ? .poll : .null, [], isExtended && hasReceived, seqn)
        }
        return (type, outgoing, isExtended && hasReceived, isExtended && seqn)
    }

    /// Whether a packet with the transport's LT_ADDR belongs to it.
    func accepts(_ type: BREDRPacketType) -> Bool {
        type == parameters.receiveType || (parameters.isExtended && (type == .poll || type == .null))
    }

    /// Takes in a packet.
    ///
    /// - Parameter payload: nil where it was broken.
    /// - Returns: whether it brought this interval's payload.
    mutating func received(_ packet: BREDRPacket, _ payload: ArraySlice<UInt8>?) -> Bool {
        if parameters.isExtended, packet.arqn { isAcknowledged = true }
        guard packet.type == parameters.receiveType, payload != nil, !hasReceived else { return false }
        hasReceived = true
        return true
    }
}

extension SynchronousParameters {
    /// An octet that is heard as silence. Core Vol 2, Part B, 9.
    var silence: UInt8 {
        switch airMode {
        case 0: 0xFF
        case 1: 0xD5
        case 2: 0x55
        default: 0
        }
    }

    /// Slots that belong to the transport from its instant on.
    var reservedSlots: Int { (transmitType?.slots ?? 1) + (receiveType?.slots ?? 1) }
}
