/// Sequence numbers (SN and NESN) of a link. Core Vol 6, Part B, 4.5.9.
struct Acknowledgement {
    /// transmitSeqNum: SN of the PDU being sent.
    private(set) var transmit: UInt8 = 0
    /// nextExpectedSeqNum: SN of the next expected PDU.
    private(set) var expected: UInt8 = 0

    /// Header of a PDU to send.
    func header(llid: UInt8, moreData: Bool) -> UInt8 { llid | expected << 2 | transmit << 3 | (moreData ? 0x10 : 0) }

    /// Handles the header of an intact packet.
    ///
    /// - Returns: true if it acknowledges the last PDU sent, and true if its own content is new.
    mutating func received(_ header: UInt8) -> (acknowledges: Bool, isNew: Bool) {
        let acknowledges = header >> 2 & 1 != transmit
        let isNew = header >> 3 & 1 == expected
        if acknowledges { transmit ^= 1 }
        if isNew { expected ^= 1 }
        return (acknowledges, isNew)
    }

    /// Reuses the last sequence number, to inject a fault.
    mutating func stepBack() { transmit ^= 1 }
}
