import BBPackets
import BBSimulation
import BBTraffic

/// ACL packet types that differ only in their slots: 1, 3 and 5. Core Vol 2, Part B, 6.7.
public enum PacketFamily: String, Sendable, Hashable, CaseIterable {
    case dm = "DM"
    case dh = "DH"
    case twoDH = "2-DH"
    case threeDH = "3-DH"

    /// Packet types of this kind, from one slot to five.
    public var types: [BREDRPacketType] {
        switch self {
        case .dm: [.dm1, .dm3, .dm5]
        case .dh: [.dh1, .dh3, .dh5]
        case .twoDH: [.twoDH1, .twoDH3, .twoDH5]
        case .threeDH: [.threeDH1, .threeDH3, .threeDH5]
        }
    }
}

/// Rates of a BR/EDR link: a packet takes 1, 3 or 5 slots, and the peer's packet follows. Core Vol 2, Part B, 2.2.3 and 6.7.
public enum SlotRate {
    static let slot: Microseconds = 625

    /// Maximum user data rate of a direction in kbit/s, with full packets.
    ///
    /// - Parameters:
    ///   - reverse: packet type of the peer.
    ///   - isAuthenticated: AES-CCM encryption, whose MIC takes four octets of user data.
    public static func maximum(_ type: BREDRPacketType, reverse: BREDRPacketType, isAuthenticated: Bool = false) -> Double {
        rate(octets: type.capacity - overhead(isAuthenticated), slots: type.slots + reverse.slots)
    }

    /// User data octets that encryption takes. Core Vol 2, Part H, 9.
    static func overhead(_ isAuthenticated: Bool) -> Int { isAuthenticated ? 4 : 0 }

    /// Rate in kbit/s of a number of octets in a number of slots.
    static func rate(octets: Int, slots: Int) -> Double { Double(octets * 8_000) / Double((slot * slots).rawValue) }
}

/// Maximum L2CAP throughput of an error-free BR/EDR link without other traffic: successive SDUs in basic mode.
public struct SlotCeiling: Sendable, Hashable {
    /// Packets of the peer between the data packets.
    public enum Reverse: Sendable, Hashable {
        /// Acknowledging single-slot packets: NULL, or POLL to a peripheral that sends.
        case acknowledgements
        /// SDUs of the same size in packets of the same family.
        case same
    }

    /// Packets of one SDU: the longest type as long as it is filled, then the shortest that holds the rest.
    public let packets: [BREDRPacketType]
    /// Slots of one SDU, including those of the peer's packets.
    public let slots: Int
    /// SDU data rate of a direction in kbit/s.
    public let goodput: Double

    /// Uses the types of a family up to the given one; nil if the type is in no family.
    public init?(sdu: Int, overhead: Int = 0, longest: BREDRPacketType, isAuthenticated: Bool = false) {
        guard let family = PacketFamily.allCases.first(where: { $0.types.contains(longest) }) else { return nil }
        self.init(sdu: sdu, overhead: overhead, family: family, maximumSlots: longest.slots, isAuthenticated: isAuthenticated)
    }

    /// - Parameters:
    ///   - sdu: octets without the basic L2CAP header.
    ///   - headers: octets added by a protocol above L2CAP.
    ///   - maximumSlots: 1, 3 or 5, as LMP_max_slot allows.
    ///   - isAuthenticated: true for AES-CCM encryption; E0 adds no octets.
    public init(
        sdu: Int, overhead headers: Int = 0, family: PacketFamily, maximumSlots: Int = 5, isAuthenticated: Bool = false,
        reverse: Reverse = .acknowledgements
    ) {
        let types = family.types.filter { $0.slots <= max(1, maximumSlots) }
        let overhead = SlotRate.overhead(isAuthenticated)
        var packets: [BREDRPacketType] = []
        var rest = sdu + headers + L2CAPHeader.octets
        while rest > 0, let longest = types.last {
            let type = types.first { rest <= $0.capacity - overhead } ?? longest
            packets.append(type)
            rest -= type.capacity - overhead
        }
        self.packets = packets
        slots = packets.reduce(0) { $0 + $1.slots + (reverse == .same ? $1.slots : 1) }
        goodput = SlotRate.rate(octets: sdu, slots: slots)
    }
}

extension Ceiling {
    /// Ceiling of a BR/EDR link.
    public init(_ slots: SlotCeiling) { self.init(goodput: slots.goodput, packets: slots.packets.count) }
}
