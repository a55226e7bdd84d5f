import Packets

/// A packet with a CRC: it is sent until the other side acknowledges it.
struct OutgoingSlots {
    var type: BREDRPacketType
    var pdu: OutgoingPDU
    /// Payload header and data.
    var payload: [UInt8]
    /// Whether AES-CCM has encrypted the data.
    var isSealed: Bool
}

/// What one end of a link sends and takes by SEQN and ARQN: what waits, what has not been acknowledged, and what is awaited. Core Vol 2, Part B, 7.6.
struct SlotExchange {
    private var queue = TransmitQueue()
    private var outstanding: OutgoingSlots?
    /// SEQN of the packet with a CRC that was begun last; the first one has 1. Core Vol 2, Part B, 7.6.2.
    private(set) var seqn = false
    /// SEQN of the packet that was taken last.
    private var lastTaken = false
    /// Whether the packet that came last is to be acknowledged; said once, and no more when nothing has come since.
    private var arqn = false
    /// FLOW of the other side.
    private var isPeerReady = true
    private var isDataHeld = false
    private var payloads = PacketPool(4)
    /// Of what was sent.
    private(set) var statistics = LinkStatistics()
    var quirks: BREDRQuirks = []

    /// Whether there is something to send at once.
    var hasMore: Bool { outstanding != nil || !queue.isEmpty }
    /// Whether a message of the link manager waits for its turn or for its acknowledgement.
    var hasControl: Bool {
        if case .control = outstanding?.pdu.kind { return true }
        return queue.hasControl
    }
    var isEmpty: Bool { outstanding == nil && queue.packetCount == 0 && !queue.hasControl }

    mutating func append(_ data: ArraySlice<UInt8>, isStart: Bool) { queue.append(data, isStart: isStart) }
    mutating func append(lmp pdu: [UInt8]) { queue.append(control: pdu, inClear: false) }

    mutating func holdData(_ isHeld: Bool) {
        isDataHeld = isHeld
        queue.isDataHeld = isHeld || !isPeerReady
    }

    /// A new piconet: what was sent is sent again with a sequence number of its own. Core Vol 2, Part B, 7.6.2.
    mutating func restart() {
        (seqn, lastTaken, arqn, isPeerReady) = (outstanding != nil, false, false, true)
        holdData(isDataHeld)
    }

    mutating func removeAll() {
        queue.removeAll()
        outstanding = nil
    }

    /// ARQN of the packet that is sent now.
    mutating func takeAcknowledgement() -> Bool {
        defer { arqn = false }
        return arqn
    }

    /// The packet that has not been acknowledged, or else the next one; nil when there is nothing, or nothing short enough.
    mutating func next(_ choice: PacketChoice, slots: Int, _ protection: inout PayloadProtection, isCentral: Bool) -> OutgoingSlots? {
        if let outstanding {
            guard outstanding.type.slots <= slots else { return nil }
            statistics.retransmissions &+= 1
            return outstanding
        }
        let isControl = queue.hasControl
        let overhead = isControl ? 0 : protection.overhead
        let type = isControl ? .dm1 : choice.type(for: queue.nextLength(limit: .max), overhead: overhead, slots: slots)
        guard let pdu = queue.next(limit: type.capacity - overhead) else { return nil }
        let data = protection.seal(pdu.payload, llid: pdu.llid, isCentral: isCentral)
        let header = UInt16(truncatingIfNeeded: data.count) << 3 | 1 << 2 | UInt16(pdu.llid)
        let payload = payloads.make { packet in
            packet.u8(UInt8(truncatingIfNeeded: header))
            if type.payloadHeaderLength == 2 { packet.u8(UInt8(truncatingIfNeeded: header >> 8)) }
            packet.bytes(data)
        }
        statistics.dataPDUs &+= 1
        if isControl || !quirks.contains(.repeatsSequenceNumber) { seqn.toggle() }
        outstanding = OutgoingSlots(type: type, pdu: pdu, payload: payload, isSealed: data.count > pdu.payload.count)
        return outstanding
    }

    /// Takes in a packet's header.
    ///
    /// - Returns: what it acknowledges.
    mutating func received(_ packet: BREDRPacket) -> OutgoingPDU? {
        if isPeerReady != packet.flow {
            isPeerReady = packet.flow
            holdData(isDataHeld)
        }
        guard packet.arqn || quirks.contains(.neverRetransmits), let acknowledged = outstanding else { return nil }
        outstanding = nil
        return acknowledged.pdu
    }

    /// A payload with a CRC came.
    ///
    /// - Returns: whether it is intact and new.
    mutating func received(payloadWith seqn: Bool, isIntact: Bool) -> Bool {
        arqn = isIntact
        guard isIntact, seqn != lastTaken else { return false }
        lastTaken = seqn
        return true
    }
}
