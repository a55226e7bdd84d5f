import BBPackets

/// A packet with a CRC, which is sent until it is acknowledged.
struct OutgoingSlots {
    var type: BREDRPacketType
    var pdu: OutgoingPDU
    /// Payload header and data.
    var payload: [UInt8]
    /// True if the data is encrypted with AES-CCM.
    var isSealed: Bool
}

/// ARQ state of one end of a link (SEQN, ARQN, FLOW): transmit queue, unacknowledged packet and expected packet. Core Vol 2, Part B, 7.6.
struct SlotExchange {
    private var queue = TransmitQueue()
    private var outstanding: OutgoingSlots?
    /// SEQN of the last new packet with a CRC; the first has 1. Core Vol 2, Part B, 7.6.2.
    private(set) var seqn = false
    /// SEQN of the last accepted packet.
    private var lastTaken = false
    /// ARQN of the next packet. Sent once per received packet; reset if nothing has been received since.
    private var arqn = false
    /// FLOW of the peer.
    private var isPeerReady = true
    private var isDataHeld = false
    private var payloads = PacketPool(4)
    /// Statistics of sent packets.
    private(set) var statistics = LinkStatistics()
    var quirks: BREDRQuirks = []

    /// True if data can be sent now.
    var hasMore: Bool { outstanding != nil || !queue.isEmpty }
    /// True if an LMP message is queued or unacknowledged.
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

    /// Resets the sequence numbers for a new piconet; unacknowledged data is sent again as new. Core Vol 2, Part B, 7.6.2.
    mutating func restart() {
        (seqn, lastTaken, arqn, isPeerReady) = (outstanding != nil, false, false, true)
        holdData(isDataHeld)
    }

    mutating func removeAll() {
        queue.removeAll()
        outstanding = nil
    }

    /// ARQN for the packet being sent.
    mutating func takeAcknowledgement() -> Bool {
        defer { arqn = false }
        return arqn
    }

    /// The unacknowledged packet, or the next one; nil if there is none or it does not fit into `slots`.
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

    /// Handles a packet header.
    ///
    /// - Returns: the PDU that it acknowledges.
    mutating func received(_ packet: BREDRPacket) -> OutgoingPDU? {
        if isPeerReady != packet.flow {
            isPeerReady = packet.flow
            holdData(isDataHeld)
        }
        guard packet.arqn || quirks.contains(.neverRetransmits), let acknowledged = outstanding else { return nil }
        outstanding = nil
        return acknowledged.pdu
    }

    /// Handles a payload with a CRC.
    ///
    /// - Returns: true if it is intact and new.
    mutating func received(payloadWith seqn: Bool, isIntact: Bool) -> Bool {
        arqn = isIntact
        guard isIntact, seqn != lastTaken else { return false }
        lastTaken = seqn
        return true
    }

    /// Requests the payload accepted last once more.
    mutating func refuse() {
        arqn = false
        lastTaken.toggle()
    }
}
