import Packets
import Simulation

/// The packet types of the asynchronous transport that differ in their slots alone: 1, 3 and 5. Core Vol 2, Part B, 6.7.
public enum PacketFamily: String, Sendable, Hashable, CaseIterable {
    case dm = "DM"
    case dh = "DH"
    case twoDH = "2-DH"
    case threeDH = "3-DH"

    /// The shortest first.
    public var types: [BREDRPacketType] {
        switch self {
        case .dm: [.dm1, .dm3, .dm5]
        case .dh: [.dh1, .dh3, .dh5]
        case .twoDH: [.twoDH1, .twoDH3, .twoDH5]
        case .threeDH: [.threeDH1, .threeDH3, .threeDH5]
        }
    }
}

/// What the slots of a link let through: a packet takes 1, 3 or 5 of them, and the other side's packet follows. Core Vol 2, Part B, 2.2.3 and 6.7.
public enum SlotRate {
    static let slot: Microseconds = 625

    /// The most user data of a direction in kbit/s: a packet full of it each time.
    ///
    /// - Parameters:
    ///   - reverse: what the other side sends in between.
    ///   - isAuthenticated: with AES-CCM the message integrity code takes four octets of the user data.
    public static func maximum(_ type: BREDRPacketType, reverse: BREDRPacketType, isAuthenticated: Bool = false) -> Double {
        rate(octets: type.capacity - overhead(isAuthenticated), slots: type.slots + reverse.slots)
    }

    /// Octets of a packet's user data that encryption takes. Core Vol 2, Part H, 9.
    static func overhead(_ isAuthenticated: Bool) -> Int { isAuthenticated ? 4 : 0 }

    /// kbit/s.
    static func rate(octets: Int, slots: Int) -> Double { Double(octets * 8_000) / Double((slot * slots).rawValue) }
}

/// The most that L2CAP can carry over a BR/EDR link without errors, nothing else being sent on it: one SDU after the other in basic frames.
public struct SlotCeiling: Sendable, Hashable {
    /// What the other side sends between the packets.
    public enum Reverse: Sendable, Hashable {
        /// Packets of one slot that acknowledge: NULL, or POLL to a peripheral that sends.
        case acknowledgements
        /// SDUs of the same size in packets of the same family.
        case same
    }

    /// The packets of one SDU: those of the most slots as long as they are filled, then the shortest that holds the rest.
    public let packets: [BREDRPacketType]
    /// The slots of one SDU, those of the other side's packets among them.
    public let slots: Int
    /// kbit/s of the SDUs in a direction.
    public let goodput: Double

    /// For the types of a family up to the slots of one; nil for a type of no family.
    public init?(sdu: Int, overhead: Int = 0, longest: BREDRPacketType, isAuthenticated: Bool = false) {
        guard let family = PacketFamily.allCases.first(where: { $0.types.contains(longest) }) else { return nil }
        self.init(sdu: sdu, overhead: overhead, family: family, maximumSlots: longest.slots, isAuthenticated: isAuthenticated)
    }

    /// - Parameters:
    ///   - sdu: octets without the basic header.
    ///   - headers: octets that a protocol above L2CAP adds to them.
    ///   - maximumSlots: 1, 3 or 5, as LMP_max_slot allows.
    ///   - isAuthenticated: whether the link is encrypted with AES-CCM; E0 adds no octets.
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
