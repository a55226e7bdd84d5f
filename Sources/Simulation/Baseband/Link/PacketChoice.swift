/// Packet types that a link uses for user data. Core Vol 2, Part B, 6.5 and 6.7; Part C, 4.1.10 and 4.1.11.
struct PacketChoice {
    static let all: Set<BREDRPacketType> = [
        .dm1, .dh1, .dm3, .dh3, .dm5, .dh5, .twoDH1, .twoDH3, .twoDH5, .threeDH1, .threeDH3, .threeDH5,
    ]
    private static let enhanced: Set<BREDRPacketType> = [.dm1, .twoDH1, .twoDH3, .twoDH5, .threeDH1, .threeDH3, .threeDH5]
    private static let basic: Set<BREDRPacketType> = [.dm1, .dh1, .dm3, .dh3, .dm5, .dh5]

    var types = all { didSet { update() } }
    var table = PacketTypeTable.basic { didSet { update() } }
    var maximumSlots = 1 { didSet { update() } }
    /// The type with the highest capacity for each number of slots, shortest first.
    private(set) var candidates: [BREDRPacketType] = []

    init() { update() }

    var wantsEnhancedRates: Bool { !types.subtracting([.dm1]).isDisjoint(with: Self.enhanced) }

    /// DM1 is always allowed. Core Vol 4, Part E, 7.1.5.
    private mutating func update() {
        let allowed = types.union([.dm1]).intersection(table == .basic ? Self.basic : Self.enhanced)
        candidates = [1, 3, 5].compactMap { slots in
            slots > maximumSlots ? nil : allowed.filter { $0.slots == slots }.max { $0.capacity < $1.capacity }
        }
    }

    /// The shortest type that holds the rest of a message, or the longest type if none does.
    ///
    /// - Parameters:
    ///   - overhead: octets added by encryption.
    ///   - slots: number of slots until the radio is needed elsewhere.
    func type(for length: Int, overhead: Int, slots: Int) -> BREDRPacketType {
        var longest = BREDRPacketType.dm1
        for type in candidates where type.slots <= slots {
            if type.capacity - overhead >= length { return type }
            longest = type
        }
        return longest
    }
}
