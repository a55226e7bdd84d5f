import Packets

/// How data is cut up for a PDU and the AUX_CHAIN_INDs that follow it. Core Vol 6, Part B, 2.3.4.9 and 4.4.2.2.
enum AuxiliaryChain {
    /// From the start of a packet to the start of the one that its pointer names: T_MAFS after it at least, in whole units of the pointer. Core Vol 6, Part B, 2.3.4.5.
    static func offset(over length: Microseconds) -> Microseconds {
        let unit: Microseconds = 30
        return unit * ((length + minimumAuxiliaryFrameSpace + unit - Microseconds(halfMicroseconds: 1)) / unit as Int)
    }

    /// The parts, at least one. Every part but the last is followed by another and so carries a pointer.
    ///
    /// - Parameters:
    ///   - first: the header of the first PDU, without pointer and data.
    ///   - following: the header of each further PDU, without pointer and data.
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
