import BBPackets

/// Packet state of one end of a link: transmit queue, unacknowledged PDU and sequence numbers. Core Vol 6, Part B, 4.5.9.
struct PacketExchange {
    private var queue = TransmitQueue()
    private var numbers = Acknowledgement()
    private var outstanding: OutgoingPDU?
    private var outstandingWasSent = false

    /// True if PDUs are queued besides the unacknowledged one.
    var hasMore: Bool { !queue.isEmpty }
    /// True if there is nothing to send.
    var isIdle: Bool { queue.isEmpty && outstanding.map { $0.payload.isEmpty } ?? true }
    /// True if no PDU and no part of an ACL packet is left to send.
    var isEmpty: Bool { isIdle && queue.packetCount == 0 }
    /// True if the next packet is the first transmission of a PDU that names an instant.
    var isAboutToAnnounce: Bool { outstanding == nil && queue.hasAnnouncement }
    /// NESN, which acknowledges the previous PDU.
    var nextExpected: UInt8 { numbers.expected }
    /// True while a procedure holds back data PDUs.
    var isDataHeld: Bool {
        get { queue.isDataHeld }
        set { queue.isDataHeld = newValue }
    }

    mutating func append(_ data: ArraySlice<UInt8>, isStart: Bool) { queue.append(data, isStart: isStart) }
    mutating func append(control pdu: [UInt8], inClear: Bool, isAnnouncement: Bool) {
        queue.append(control: pdu, inClear: inClear, isAnnouncement: isAnnouncement)
    }

    /// Changes the PDU of `isAboutToAnnounce`.
    mutating func changeAnnouncement(_ change: (ArraySlice<UInt8>) -> ArraySlice<UInt8>) { queue.change(change) }

    /// Sends a PDU before all others, whatever its header and length. Returns false while another is unacknowledged.
    mutating func sendNext(_ pdu: OutgoingPDU) -> Bool {
        guard outstanding == nil else { return false }
        outstanding = pdu
        outstandingWasSent = false
        return true
    }

    mutating func removeAll() {
        queue.removeAll()
        queue.isDataHeld = false
        outstanding = nil
    }

    /// Length of the next PDU to send, including MIC.
    ///
    /// - Parameters:
    ///   - acknowledged: assume that the last PDU has been acknowledged.
    ///   - limit: maximum data octets of a new PDU.
    ///   - micLength: MIC length of a new non-empty PDU.
    func nextLength(acknowledged: Bool, limit: Int, micLength: Int) -> Int {
        let waiting = acknowledged ? nil : outstanding?.payload.count
        if let waiting, outstandingWasSent { return waiting }
        let length = waiting ?? queue.nextLength(limit: limit)
        return length == 0 ? 0 : length + micLength
    }

    /// Length of the next PDU after a packet with this NESN.
    func nextLength(after nextExpected: UInt8, limit: Int, micLength: Int) -> Int {
        nextLength(acknowledged: nextExpected != numbers.transmit, limit: limit, micLength: micLength)
    }

    /// The unacknowledged PDU, or the next one, or an empty one. A PDU is encrypted once; a retransmission has the same octets.
    ///
    /// - Parameter allowsData: false if new data would take too long.
    mutating func next(limit: Int, allowsData: Bool, _ encryption: inout LinkEncryption) -> (pdu: OutgoingPDU, isRetransmission: Bool) {
        var pdu = outstanding ?? (allowsData ? queue.next(limit: limit) : nil) ?? .empty
        let wasSent = outstanding != nil && outstandingWasSent
        let isRetransmission = wasSent && !pdu.payload.isEmpty
        if !wasSent || isRetransmission && encryption.sealsAgain { encryption.seal(&pdu) }
        outstanding = pdu
        outstandingWasSent = true
        return (pdu, isRetransmission)
    }

    func header(of pdu: OutgoingPDU, moreData: Bool) -> UInt8 { numbers.header(llid: pdu.llid, moreData: moreData) }

    /// Handles the header of an intact packet.
    ///
    /// - Returns: kind of the PDU that it acknowledges, and true if its own content is new.
    mutating func received(_ header: UInt8) -> (acknowledged: OutgoingPDU.Kind?, isNew: Bool) {
        let (acknowledges, isNew) = numbers.received(header)
        guard acknowledges else { return (nil, isNew) }
        let kind = outstanding?.kind
        outstanding = nil
        return (kind, isNew)
    }

    // MARK: Injected faults

    /// Drops the unacknowledged PDU instead of retransmitting it.
    mutating func forgetOutstanding() {
        guard let pdu = outstanding, !pdu.payload.isEmpty else { return }
        outstanding = OutgoingPDU(llid: LLID.continuation, payload: [], kind: pdu.kind)
    }

    /// Sends every new data PDU with the sequence number of the previous one.
    mutating func repeatSequenceNumber(for pdu: OutgoingPDU) {
        if case .data = pdu.kind, numbers.transmit == 1 { numbers.stepBack() }
    }
}
