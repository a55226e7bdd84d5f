import Packets

/// What one end of a link sends and takes by sequence number: what waits, what has not been acknowledged, and what is awaited. Core Vol 6, Part B, 4.5.9.
struct PacketExchange {
    private var queue = TransmitQueue()
    private var numbers = Acknowledgement()
    private var outstanding: OutgoingPDU?
    private var outstandingWasSent = false

    /// Whether there is more to send than what is outstanding.
    var hasMore: Bool { !queue.isEmpty }
    /// Whether there is nothing to send.
    var isIdle: Bool { queue.isEmpty && outstanding.map { $0.payload.isEmpty } ?? true }
    /// Whether nothing is left of what was to be sent: a link that has come to rest.
    var isEmpty: Bool { isIdle && queue.packetCount == 0 }
    /// The next expected sequence number, which acknowledges what came before.
    var nextExpected: UInt8 { numbers.expected }
    /// Whether data PDUs wait until a procedure is over.
    var isDataHeld: Bool {
        get { queue.isDataHeld }
        set { queue.isDataHeld = newValue }
    }

    mutating func append(_ data: ArraySlice<UInt8>, isStart: Bool) { queue.append(data, isStart: isStart) }
    mutating func append(control pdu: [UInt8], inClear: Bool) { queue.append(control: pdu, inClear: inClear) }

    /// Sends a PDU before anything else, whatever its header and length; false while another is outstanding.
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

    /// The length of the PDU that would be sent next, with its MIC.
    ///
    /// - Parameters:
    ///   - acknowledged: whether what is outstanding is taken as acknowledged.
    ///   - limit: the most data octets of a new PDU.
    ///   - micLength: what a new PDU that is not empty has beside.
    func nextLength(acknowledged: Bool, limit: Int, micLength: Int) -> Int {
        let waiting = acknowledged ? nil : outstanding?.payload.count
        if let waiting, outstandingWasSent { return waiting }
        let length = waiting ?? queue.nextLength(limit: limit)
        return length == 0 ? 0 : length + micLength
    }

    /// The same, after a packet with this next expected sequence number.
    func nextLength(after nextExpected: UInt8, limit: Int, micLength: Int) -> Int {
        nextLength(acknowledged: nextExpected != numbers.transmit, limit: limit, micLength: micLength)
    }

    /// The outstanding PDU, or else the next one, or else an empty one. A PDU is encrypted once: what is sent again is the same octets.
    ///
    /// - Parameter allowsData: false where new data would take too long.
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

    /// Takes in the header of an intact packet.
    ///
    /// - Returns: what the PDU is that it acknowledges, and whether its own content is new.
    mutating func received(_ header: UInt8) -> (acknowledged: OutgoingPDU.Kind?, isNew: Bool) {
        let (acknowledges, isNew) = numbers.received(header)
        guard acknowledges else { return (nil, isNew) }
        let kind = outstanding?.kind
        outstanding = nil
        return (kind, isNew)
    }

    // MARK: Planted faults

    /// Nothing is sent twice.
    mutating func forgetOutstanding() {
        guard let pdu = outstanding, !pdu.payload.isEmpty else { return }
        outstanding = OutgoingPDU(llid: LLID.continuation, payload: [], kind: pdu.kind)
    }

    /// Every new data PDU has the sequence number of the one before.
    mutating func repeatSequenceNumber(for pdu: OutgoingPDU) {
        if case .data = pdu.kind, numbers.transmit == 1 { numbers.stepBack() }
    }
}
