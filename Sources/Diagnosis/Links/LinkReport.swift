import BBCases
import BBPackets
import BBTraffic

/// The description of one connection.
public struct LinkReport: Sendable {
    /// Parameters in force from a packet on.
    public struct Parameters: Sendable {
        public var packet: Int
        public var time: Int64
        /// N x 1.25 ms.
        public var interval: Int
        public var latency: Int
        /// N x 10 ms.
        public var timeout: Int
    }

    /// A change of a property, as text.
    public struct Change: Sendable {
        public var packet: Int
        public var text: String
    }

    public var number: Int
    public var kind = Link.Kind.le
    /// True if the capture contains the start of the connection.
    public var isComplete = false
    /// True for a link that a sniffer followed.
    public var isOnAir = false
    /// True if the packets of both ends are mixed, as in a btsnoop file of two controllers. Only what hosts send is counted as data.
    package var isMerged = false
    /// Role of the local device on an HCI, central or peripheral; nil on the air and if unknown.
    public var localRole: PacketSender?
    public var device: Int?
    /// True if the device has a private address that no key in the capture resolves.
    var isPrivate = false
    public var opened: Moment
    public var lastPacket: Moment
    public var end: Change?
    public var parameters: [Parameters] = []
    public var mtu: (packet: Int, octets: Int)?
    public var dataLengths: [Change] = []
    public var phys: [Change] = []
    public var security: [Change] = []
    public var services: [String] = []
    public var isEncrypted = false
    /// Maximum data octets of a packet from the central and from the peripheral.
    var octets = ByEnd(central: 27, peripheral: 27)
    var phy = ByEnd(central: PHY.le1M, peripheral: PHY.le1M)
    /// Data from the central, or from the local device if the role is unknown, and from the other side.
    public var flows = (forth: Flow(), back: Flow())
    /// The same data, split where the conditions of the link changed.
    package var spans: [FlowSpan] = []

    /// Limits of the lists, which bound the memory for hostile captures.
    static let most = (changes: 32, services: 32, spans: 256)

    /// The values for the condition `link:` of rules.
    static let fields: [Vocabulary.Field] = [
        .init("Kind"), .init("Role"), .init("Opened", .number(0...1)), .init("On_Air", .number(0...1)),
        .init("Interval", .number(0...65_535)),
        .init("Latency", .number(0...65_535)), .init("Timeout", .number(0...65_535)), .init("MTU", .number(0...65_535)),
        .init("Encrypted", .number(0...1)),
    ]

    var record: CaseRecord {
        CaseRecord([
            ("Kind", .text(kind.words)), ("Role", .text(localRole?.rawValue ?? "unknown")), ("Opened", .number(isComplete ? 1 : 0)),
            ("On_Air", .number(isOnAir ? 1 : 0)),
            ("Interval", .number(parameters.last?.interval ?? 0)), ("Latency", .number(parameters.last?.latency ?? 0)),
            ("Timeout", .number(parameters.last?.timeout ?? 0)), ("MTU", .number(mtu?.octets ?? 23)),
            ("Encrypted", .number(isEncrypted ? 1 : 0)),
        ])
    }

    mutating func set(_ new: Parameters) {
        if let last = parameters.last, (last.interval, last.latency, last.timeout) == (new.interval, new.latency, new.timeout) { return }
        // Later changes replace the last entry of a full list.
        if parameters.count >= Self.most.changes { parameters.removeLast() }
        parameters.append(new)
    }

    var conditions: FlowConditions {
        let longest = max(octets.central, octets.peripheral)
        let octets = isMerged ? ByEnd(central: longest, peripheral: longest) : octets
        return FlowConditions(
            interval: parameters.last?.interval, mtu: mtu?.octets ?? 23, octets: octets.central, returnOctets: octets.peripheral,
            phy: phy.central, returnPHY: phy.peripheral, isEncrypted: isEncrypted)
    }

    /// Counts data; `isForth` if they come from the central, or from the local device if the role is unknown.
    mutating func add(_ count: Int, _ kind: DataKind, isForth: Bool, at time: Int64, isAcknowledged: Bool, isStarved: Bool) {
        func add(to flows: inout (forth: Flow, back: Flow)) {
            if isForth {
                flows.forth.add(count, kind, at: time, isAcknowledged: isAcknowledged, isStarved: isStarved)
            } else {
                flows.back.add(count, kind, at: time, isAcknowledged: isAcknowledged, isStarved: isStarved)
            }
        }
        add(to: &flows)
        let now = conditions
        if spans.last?.conditions != now, spans.count < Self.most.spans { spans.append(FlowSpan(conditions: now)) }
        add(to: &spans[spans.count - 1].flows)
    }
}

/// The properties of a link that limit its throughput.
package struct FlowConditions: Sendable, Hashable {
    /// N x 1.25 ms; nil if the capture does not show it.
    var interval: Int?
    var mtu: Int
    var octets: Int
    var returnOctets: Int
    var phy: PHY
    var returnPHY: PHY
    package var isEncrypted: Bool
}

/// Application data of a link under constant conditions.
package struct FlowSpan: Sendable {
    /// Conditions of data from the central.
    package var conditions: FlowConditions
    package var flows = (forth: Flow(), back: Flow())
}

/// A kind of application data. Data of a channel are SDUs or parts of them.
package enum DataKind: String, Sendable, CaseIterable {
    case notification, command, request, read, channel
}

/// Application data in one direction of a link.
public struct Flow: Sendable {
    public internal(set) var packets = 0
    public internal(set) var octets = 0
    /// Microseconds during which data flowed: gaps of more than a second are left out.
    public internal(set) var active: Int64 = 0
    /// Packets that the receiver had to answer before the next one.
    public internal(set) var acknowledged = 0
    public internal(set) var longest = 0
    /// Number of packets sent while all buffers of the controller were in use before.
    public internal(set) var starved = 0
    /// Microseconds since the first packet of the capture.
    package private(set) var begin: Int64 = 0
    private var kinds: [DataKind: Int] = [:]
    private var last: Int64?

    static let longestGap: Int64 = 1_000_000

    /// The kind with the most octets.
    package var kind: DataKind { DataKind.allCases.max { (kinds[$0] ?? 0) < (kinds[$1] ?? 0) } ?? .notification }

    mutating func add(_ count: Int, _ kind: DataKind, at time: Int64, isAcknowledged: Bool, isStarved: Bool) {
        if packets == 0 { begin = time }
        kinds[kind, default: 0] += count
        if let last, time > last, time - last < Self.longestGap { active += time - last }
        last = time
        packets += 1
        octets += count
        longest = max(longest, count)
        if isAcknowledged { acknowledged += 1 }
        if isStarved { starved += 1 }
    }

    /// kbit/s while data flowed; nil for too little data.
    public var rate: Double? {
        guard packets >= 20, active >= 200_000 else { return nil }
        return Double(octets * 8) * 1_000 / Double(active)
    }
}
