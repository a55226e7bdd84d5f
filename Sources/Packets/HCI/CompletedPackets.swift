extension HCIEvents.NumberOfCompletedPackets {
    /// Decodes the event row by row without creating a list, because the event is frequent. Core Vol 4, Part E, 7.7.19.
    ///
    /// - Returns: true if the event was complete; rows before a fault are passed on in any case.
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
