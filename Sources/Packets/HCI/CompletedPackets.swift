extension HCIEvents.NumberOfCompletedPackets {
    /// Reads the event row by row, without a list of the rows: it comes for every few packets of data. Core Vol 4, Part E, 7.7.19.
    ///
    /// - Returns: whether the event was whole; rows before the fault have been handed over all the same.
    public static func forEach(in packet: HCIPacket, _ body: (_ handle: ConnectionHandle, _ count: Int) -> Void) -> Bool {
        let span = packet.bytes.span.bytes
        guard packet.eventCode == code, span.byteCount >= 3 else { return false }
        let rows = Int(span.u8(at: 2))
        for row in 0..<min(rows, (span.byteCount - 3) / 4) {
            body(ConnectionHandle(span.u16(at: 3 + 4 * row) & 0x0FFF), Int(span.u16(at: 5 + 4 * row)))
        }
        return packet.isWhole && span.byteCount >= 3 + 4 * rows
    }
}
