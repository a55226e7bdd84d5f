/// Sequence numbers of a link. Core Vol 6, Part B, 4.5.9.
struct Acknowledgement {
    /// transmitSeqNum: of the PDU being sent.
    private(set) var transmit: UInt8 = 0
    /// nextExpectedSeqNum: of the PDU awaited.
    private(set) var expected: UInt8 = 0

    /// The header of a PDU to send.
    func header(llid: UInt8, moreData: Bool) -> UInt8 { llid | expected << 2 | transmit << 3 | (moreData ? 0x10 : 0) }

    /// Takes in the header of an intact packet.
    ///
    /// - Returns: whether it acknowledges what was sent last, and whether its own content is new.
    mutating func received(_ header: UInt8) -> (acknowledges: Bool, isNew: Bool) {
        let acknowledges = header >> 2 & 1 != transmit
        let isNew = header >> 3 & 1 == expected
        if acknowledges { transmit ^= 1 }
        if isNew { expected ^= 1 }
        return (acknowledges, isNew)
    }

    /// Uses the last sequence number again, for a planted fault.
    mutating func stepBack() { transmit ^= 1 }
}
