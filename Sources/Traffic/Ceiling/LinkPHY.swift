import BBPackets

/// PHY and coding of one direction of a link; on LE Coded the transmitter selects the coding. Core Vol 6, Part B, 2.1 and 2.2.
public enum LinkPHY: String, Sendable, Hashable, CaseIterable, Codable {
    case le1M = "1m"
    case le2M = "2m"
    case codedS2 = "coded-s2"
    case codedS8 = "coded-s8"

    public var phy: PHY {
        switch self {
        case .le1M: .le1M
        case .le2M: .le2M
        case .codedS2, .codedS8: .leCoded
        }
    }

    public var isCoded: Bool { phy == .leCoded }

    /// Duration of a packet with `payload` octets after its header, including the MIC.
    public func airTime(payload: Int) -> Microseconds {
        let protected = 2 + payload + 3
        return switch self {
        case .le1M: Microseconds((1 + 4 + protected) * 8)
        case .le2M: Microseconds((2 + 4 + protected) * 4)
        case .codedS2: Microseconds(376 + protected * 16 + 6)
        case .codedS8: Microseconds(376 + protected * 64 + 24)
        }
    }

    /// Maximum payload octets of a packet no longer than `time`.
    public func payload(within time: Microseconds) -> Int {
        let empty = airTime(payload: 0)
        return time < empty ? 0 : (time - empty) / (airTime(payload: 1) - empty)
    }

    /// Duration of the longest packet, 251 octets with MIC, as used in LE_Set_Data_Length: 2120 us, or 17040 us on LE Coded.
    public var longestTime: Microseconds { isCoded ? 17_040 : 2_120 }
}

/// connEffectiveMaxTxTime. Core Vol 6, Part B, 4.5.10.
public enum EffectiveTime {
    /// Minimum on LE Coded: 27 octets with MIC at S=8.
    public static let leastOnCoded: Microseconds = 2_704

    /// - Parameters:
    ///   - negotiated: the smaller of one device's TX time and the other's RX time.
    ///   - receiveOctets: maximum payload that the peer may send.
    ///   - receiveTime: maximum duration of the peer's packets, before the rule for LE Coded.
    public static func transmit(
        on phy: LinkPHY, negotiated: Microseconds, interval: Microseconds, receiveOctets: Int = 27, receiveTime: Microseconds = 328
    ) -> Microseconds {
        guard phy.isCoded else { return negotiated }
        let reply = min(max(leastOnCoded, receiveTime), Microseconds(receiveOctets * 64 + 976))
        return max(leastOnCoded, min(negotiated, interval - reply - 300))
    }
}
