import BBPackets

/// Event filters for inquiry results and connection requests. Core Vol 4, Part E, 7.3.3.
struct EventFilters {
    /// Devices that a filter matches.
    enum Condition: Equatable {
        case everyone
        case device(classOfDevice: UInt32, mask: UInt32)
        case address(BDADDR)

        /// - Parameter octets: condition type and its fields, without trailing octets.
        init?(_ octets: ArraySlice<UInt8>) {
            let fields = Array(octets.dropFirst())
            switch (octets.first, fields.count) {
            case (0, 0): self = .everyone
            case (1, 6): self = .device(classOfDevice: Self.number(fields[..<3]), mask: Self.number(fields[3...]))
            case (2, 6): self = .address(BDADDR(fields.reversed().reduce(0) { $0 << 8 | UInt64($1) }))
            default: return nil
            }
        }

        private static func number(_ octets: ArraySlice<UInt8>) -> UInt32 { octets.reversed().reduce(0) { $0 << 8 | UInt32($1) } }

        func passes(_ address: BDADDR, _ classOfDevice: UInt32) -> Bool {
            switch self {
            case .everyone: true
            case .device(let wanted, let mask): classOfDevice & mask == wanted & mask
            case .address(let wanted): address == wanted
            }
        }
    }

    struct Connection: Equatable {
        var condition: Condition
        /// Auto_Accept_Flag, 1...3.
        var acceptance: UInt8
    }

    /// Maximum number of filters of each kind.
    static let capacity = 8

    private(set) var inquiry: [Condition] = []
    private(set) var connections: [Connection] = []

    /// True if a filter passes an inquiry result, or if there is no filter.
    func passesInquiry(_ address: BDADDR, _ classOfDevice: UInt32) -> Bool {
        inquiry.isEmpty || inquiry.contains { $0.passes(address, classOfDevice) }
    }

    enum Verdict {
        case ask
        /// As central by a role switch, if both devices have it.
        case accept(asCentral: Bool)
        case refuse
    }

    /// Decision on a connection request. Without filters, the host is asked; a device that matches no filter is rejected.
    func verdict(on address: BDADDR, _ classOfDevice: UInt32) -> Verdict {
        guard !connections.isEmpty else { return .ask }
        guard let filter = connections.first(where: { $0.condition.passes(address, classOfDevice) }) else { return .refuse }
        return filter.acceptance == 1 ? .ask : .accept(asCentral: filter.acceptance == 3)
    }

    /// Executes Set_Event_Filter.
    mutating func apply(type: UInt8, _ rest: [UInt8]) throws(CommandRefusal) {
        switch type {
        case 0:
            try Check.that(rest.isEmpty)
            self = EventFilters()
        case 1:
            guard let condition = Condition(rest[...]) else { throw .invalidParameters }
            try Check.that(inquiry.count < Self.capacity, else: .memoryExceeded)
            inquiry.append(condition)
        case 2:
            guard let acceptance = rest.last, (1...3).contains(acceptance), let condition = Condition(rest.dropLast()) else {
                throw .invalidParameters
            }
            try Check.that(connections.count < Self.capacity, else: .memoryExceeded)
            connections.append(Connection(condition: condition, acceptance: acceptance))
        default: throw .invalidParameters
        }
    }
}
