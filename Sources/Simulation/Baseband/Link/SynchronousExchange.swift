import BBPackets

/// ARQ state of one end of a synchronous transport: one payload in each direction per interval. eSCO acknowledges with ARQN and retransmits
/// in its window. Core Vol 2, Part B, 4.3, 4.4 and 7.6.
struct SynchronousExchange {
    let parameters: SynchronousParameters
    /// Voice data queued by the host.
    private var queue: [UInt8] = []
    /// Payload of the current interval.
    private var outgoing: [UInt8] = []
    /// Toggles with each interval.
    private var seqn = false
    private var isAcknowledged = false
    /// True once the peer's payload of the current interval has been received.
    private(set) var hasReceived = false

    init(_ parameters: SynchronousParameters) { self.parameters = parameters }

    /// True if nothing is left to exchange in the current interval.
    var isDone: Bool {
        !parameters.isExtended
            || (parameters.transmitType == nil || isAcknowledged) && (parameters.receiveType == nil || hasReceived)
    }

    /// Capacity of the host-to-controller voice queue in octets; the oldest data is dropped.
    private var capacity: Int { max(1_024, 16 * Int(parameters.transmitLength)) }

    mutating func append(_ voice: ArraySlice<UInt8>) {
        queue += voice
        if queue.count > capacity { queue.removeFirst(queue.count - capacity) }
    }

    /// Starts an interval with the next payload, or with silence if the host has sent none.
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

    /// The next packet: the payload until it is acknowledged, then POLL from a central or NULL from a peripheral.
    func next(isCentral: Bool) -> (type: BREDRPacketType, payload: [UInt8], arqn: Bool, seqn: Bool) {
        let isExtended = parameters.isExtended
        guard let type = parameters.transmitType, !isAcknowledged else {
            return (isCentral ? .poll : .null, [], isExtended && hasReceived, seqn)
        }
        return (type, outgoing, isExtended && hasReceived, isExtended && seqn)
    }

    /// True if a packet with the transport's LT_ADDR belongs to it.
    func accepts(_ type: BREDRPacketType) -> Bool {
        type == parameters.receiveType || (parameters.isExtended && (type == .poll || type == .null))
    }

    /// Handles a received packet.
    ///
    /// - Parameter payload: nil if it is corrupted.
    /// - Returns: true if it carried the payload of the current interval.
    mutating func received(_ packet: BREDRPacket, _ payload: ArraySlice<UInt8>?) -> Bool {
        if parameters.isExtended, packet.arqn { isAcknowledged = true }
        guard packet.type == parameters.receiveType, payload != nil, !hasReceived else { return false }
        hasReceived = true
        return true
    }
}

extension SynchronousParameters {
    /// Octet that encodes silence. Core Vol 2, Part B, 9.
    var silence: UInt8 {
        switch airMode {
        case 0: 0xFF
        case 1: 0xD5
        case 2: 0x55
        default: 0
        }
    }

    /// Reserved slots of both directions per interval.
    var reservedSlots: Int { (transmitType?.slots ?? 1) + (receiveType?.slots ?? 1) }
}
