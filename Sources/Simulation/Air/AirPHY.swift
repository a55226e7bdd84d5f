import BBPackets

/// Modulation and coding of a packet: the PHY and, on LE Coded, the coding of its payload. Core Vol 6, Part B, 2.1 and 2.2.
enum AirPHY: UInt8 {
    case le1M
    case le2M
    case codedS8
    case codedS2

    /// - Parameter prefersS2: use S=2 coding instead of S=8 on LE Coded.
    init(_ phy: PHY, prefersS2: Bool = false) {
        switch phy {
        case .le1M: self = .le1M
        case .le2M: self = .le2M
        case .leCoded: self = prefersS2 ? .codedS2 : .codedS8
        }
    }

    var phy: PHY {
        switch self {
        case .le1M: .le1M
        case .le2M: .le2M
        case .codedS8, .codedS2: .leCoded
        }
    }

    /// Duration of a packet, from the first bit of the preamble to the last bit of the CRC (and TERM2).
    ///
    /// - Parameter payload: payload octets after the 2-octet header, including the MIC.
    func airTime(payload: Int, crcOctets: Int = 3) -> Microseconds {
        let octets = 2 + payload
        return switch self {
        case .le1M: Microseconds((1 + 4 + octets + crcOctets) * 8)
        case .le2M: Microseconds((2 + 4 + octets + crcOctets) * 4)
        case .codedS8: Microseconds(376 + (octets + crcOctets) * 64 + 24)
        case .codedS2: Microseconds(376 + (octets + crcOctets) * 16 + 6)
        }
    }

    /// The largest payload, in octets, whose packet fits in `time`; negative if not even an empty packet fits.
    func payload(within time: Microseconds) -> Int {
        let empty = airTime(payload: 0)
        let octet = airTime(payload: 1) - empty
        return time < empty ? -1 : (time - empty) / octet
    }
}

/// T_IFS: time between the end of a packet and the start of the reply. Core Vol 6, Part B, 4.1.1.
let interFrameSpace: Microseconds = 150
/// Maximum deviation of a packet's start from T_IFS. Core Vol 6, Part B, 4.2.1.
let activeClockTolerance: Microseconds = 2
/// T_MAFS: minimum time between the packets of an extended advertising event. Core Vol 6, Part B, 4.1.2.
let minimumAuxiliaryFrameSpace: Microseconds = 300
