import Packets
import Simulation

/// How a flow's packets travel.
public enum FlowKind: String, Sendable, Hashable, CaseIterable, Codable {
    /// Handle Value Notifications, server to client.
    case notify
    /// Write Commands, client to server.
    case write
    /// Write Requests, client to server, each answered before the next.
    case request
    /// Write Requests that each ask the server for one notification, one round trip after the other.
    case ping
    /// SDUs in basic frames on an L2CAP channel over BR/EDR.
    case l2cap
    /// Frames of a serial port over BR/EDR, always encrypted.
    case rfcomm

    /// Whether it goes over BR/EDR.
    public var isBREDR: Bool { self == .l2cap || self == .rfcomm }
    /// Whether what counts goes from the server to the client.
    var comesFromServer: Bool { self == .notify || self == .ping }
    /// Octets that a protocol above L2CAP adds to so many: address, length, control and check sequence of a UIH frame. RFCOMM 1.2, 5.1.
    func overhead(on octets: Int) -> Int { self == .rfcomm ? (octets > 127 ? 5 : 4) : 0 }
}

/// Which way the data go, seen from the tester.
public enum FlowDirection: String, Sendable, Hashable, CaseIterable, Codable {
    case fromSubject = "from-subject"
    case toSubject = "to-subject"
}

/// One measurement: what was asked for, what the link really had, what came through and what was missing.
public struct ThroughputRow: Sendable, Hashable {
    /// What was asked for.
    public struct Request: Sendable, Hashable {
        public var over: FlowKind
        public var direction: FlowDirection
        public var phy: LinkPHY
        public var dataLength: Int
        public var mtu: Int
        public var interval: Microseconds
        public var isEncrypted = false
        /// The other direction has a flow of its own at the same time, on the same link.
        public var isBothWays = false
        /// Of a flow over BR/EDR: the longest type of a family that is sent; `mtu` is the SDU's length then.
        public var packets: BREDRPacketType?

        public init(over: FlowKind, direction: FlowDirection, phy: LinkPHY, dataLength: Int, mtu: Int, interval: Microseconds) {
            self.over = over
            self.direction = direction
            self.phy = phy
            self.dataLength = dataLength
            self.mtu = mtu
            self.interval = interval
        }

        /// The flow the other way, for the same client and server.
        var turned: Self {
            var other = self
            other.over = over == .notify ? .write : .notify
            other.direction = direction == .fromSubject ? .toSubject : .fromSubject
            return other
        }

        /// A flow over BR/EDR.
        ///
        /// - Parameter sdu: by default as long as one packet holds.
        public init(
            over: FlowKind = .l2cap, direction: FlowDirection, packets: BREDRPacketType, sdu: Int? = nil, isEncrypted: Bool = false
        ) {
            let isEncrypted = isEncrypted || over == .rfcomm
            let room = packets.capacity - L2CAPHeader.octets - SlotRate.overhead(isEncrypted)
            self.init(
                over: over, direction: direction, phy: .le1M, dataLength: packets.capacity,
                mtu: max(FlowPacket.shortest, sdu ?? room - over.overhead(on: room)), interval: .zero)
            (self.packets, self.isEncrypted) = (packets, isEncrypted)
        }
    }

    /// A part of what the air could carry that did not become goodput.
    public struct Missing: Sendable, Hashable, Codable {
        public var cause: Limit
        public var kbps: Double
        public var text: String
    }

    /// One of several flows at once, or all of them together.
    public struct Place: Sendable, Hashable {
        /// Counted from 1; nil for the sum of all flows.
        public var link: Int?
        public var links: Int
        /// Of the sum: Jain's index of the flows' figures, 1 where all have the same, 1/n where one has all.
        public var fairness: Double?
        /// What each link would have if the anchor points were spread evenly, kbit/s.
        public var evenShare: Double?
    }

    public var request: Request
    /// Nil of a flow alone.
    public var place: Place?
    /// The link as it was during the count; nil when it never came to be.
    public var link: LinkParameters?
    /// The span of the count, and how many connection events it held.
    public var begin: Microseconds = .zero
    public var end: Microseconds = .zero
    public var events = 0
    /// Received within the span.
    public var packets = 0
    public var octets = 0
    /// Over the whole flow.
    public var tally = FlowTally()
    public var ceiling: Ceiling?
    public var counters: LinkCounters?
    /// Octets received in each whole `binWidth` of the count; none where the receiver cannot be watched, and not after the first hour.
    public var bins: [Int] = []
    public static let binWidth = Microseconds.milliseconds(100)
    /// The first events of the count, where the air was watched.
    public var timeline: EventTimeline?
    /// Of `ping`.
    public var roundTrips: RoundTrips?
    /// How the sending host kept up, where it is ours.
    public var supply: SupplyCounters?
    public var limit: Limit?
    public var missing: [Missing] = []
    /// Why there is no figure, or what is wrong with it.
    public var failure: String?
    /// The bench or its environment failed, not the subject.
    public var isEnvironment = false
    /// In the simulation, how many milliseconds of wall time the row took.
    public var wallMilliseconds: Double = 0
    /// The goodput of each repetition, where the row was measured more than once; the row itself is the one in the middle.
    public var repetitions: [Double] = []

    public init(_ request: Request) { self.request = request }

    public var isEncrypted: Bool { link?.isEncrypted ?? (request.packets != nil && request.isEncrypted) }

    public var goodput: Double {
        let span = (end - begin).rawValue
        return span > 0 ? Double(octets * 8) * 1_000 / Double(span) : 0
    }

    /// Of the ceiling for the link as it was.
    public var percent: Double {
        guard let limit = ceiling?.perInterval, limit > 0 else { return 0 }
        return goodput / limit * 100
    }

    /// Of several measurements of one row the one whose goodput is in the middle, with the goodput of all; one that failed is told of first. Nil of none.
    public static func middle(of rows: [ThroughputRow]) -> ThroughputRow? {
        if let failed = rows.first(where: { $0.failure != nil }) { return failed }
        let sorted = rows.sorted { $0.goodput < $1.goodput }
        guard !sorted.isEmpty else { return nil }
        var row = sorted[(sorted.count - 1) / 2]
        if rows.count > 1 { row.repetitions = rows.map(\.goodput) }
        return row
    }

    /// Link-layer packets with data, without those sent again, in an event.
    public var packetsPerEvent: Double {
        guard events > 0, let ceiling else { return 0 }
        return Double(packets * ceiling.fragmentsPerPacket) / Double(events)
    }

}
