import BBPackets

/// Fragmentation of data into a PDU and the AUX_CHAIN_INDs that follow. Core Vol 6, Part B, 2.3.4.9 and 4.4.2.2.
enum AuxiliaryChain {
    /// Offset from the start of a packet to the start of the packet its AuxPtr points to: at least T_MAFS after its end, a multiple of the
    /// pointer's unit. Core Vol 6, Part B, 2.3.4.5.
    static func offset(over length: Microseconds) -> Microseconds {
        let unit: Microseconds = 30
        return unit * ((length + minimumAuxiliaryFrameSpace + unit - Microseconds(halfMicroseconds: 1)) / unit as Int)
    }

    /// Splits data into at least one fragment. Every fragment but the last is followed by another and carries an AuxPtr.
    ///
    /// - Parameters:
    ///   - first: header of the first PDU, without AuxPtr and data.
    ///   - following: header of each further PDU, without AuxPtr and data.
    static func split(_ data: [UInt8], first: ExtendedHeader, following: ExtendedHeader) -> [[UInt8]] {
        if data.count <= first.roomForData { return [data] }
        var parts: [[UInt8]] = []
        var rest = data[...]
        var header = first
        while !rest.isEmpty {
            header.auxiliaryPointer = nil
            if rest.count > header.roomForData { header.auxiliaryPointer = AuxiliaryPointer(channel: 0, offset: 30, phy: .le1M) }
            parts.append(Array(rest.prefix(header.roomForData)))
            rest = rest.dropFirst(header.roomForData)
            header = following
        }
        return parts
    }
}
