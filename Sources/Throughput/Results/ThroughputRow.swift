import BBPackets
import BBSimulation
import BBTraffic

/// Kind of packets of a flow.
public enum FlowKind: String, Sendable, Hashable, CaseIterable, Codable {
    /// Handle Value Notifications, server to client.
    case notify
    /// Write Commands, client to server.
    case write
    /// Write Requests, client to server, each after the response to the previous one.
    case request
    /// Write Requests that each request one notification from the server, one round trip at a time.
    case ping
    /// SDUs in basic mode on a BR/EDR L2CAP channel.
    case l2cap
    /// RFCOMM frames on BR/EDR, always encrypted.
    case rfcomm
    /// SDUs on L2CAP channels in LE credit-based flow control mode.
    case channel

    /// True for flows over BR/EDR.
    public var isBREDR: Bool { self == .l2cap || self == .rfcomm }
    /// True if both sides of the flow can be client or server.
    var isSymmetric: Bool { self == .channel }
    /// True if the measured data is sent by the server.
    var comesFromServer: Bool { self == .notify || self == .ping }
    /// Octets that RFCOMM adds: address, length, control and check sequence of a UIH frame. RFCOMM 1.2, 5.1.
    func overhead(on octets: Int) -> Int { self == .rfcomm ? (octets > 127 ? 5 : 4) : 0 }
}

/// Direction of data, as seen by the tester.
public enum FlowDirection: String, Sendable, Hashable, CaseIterable, Codable {
    case fromSubject = "from-subject"
    case toSubject = "to-subject"
}

/// Requested parameters of L2CAP channels. Core Vol 3, Part A, 4.22.
public struct ChannelRequest: Sendable, Hashable {
    static let leastMPS = 23
    /// Least MTU and MPS in enhanced credit-based flow control mode. Core Vol 3, Part A, 4.25.
    static let leastMPSOfBearers = 64
    static let mostBearers = 5
    public static let mostCredits = 65_535

    /// Maximum payload of a K-frame.
    public var mps: Int
    /// Number of channels, each with a flow of its own.
    public var count = 1
    /// Credits that each side gives initially and renews.
    public var credits = mostCredits
}

/// One measurement: requested and actual link parameters, goodput and losses.
public struct ThroughputRow: Sendable, Hashable {
    /// The requested parameters.
    public struct Request: Sendable, Hashable {
        public var over: FlowKind
        public var direction: FlowDirection
        public var phy: LinkPHY
        public var dataLength: Int
        public var mtu: Int
        public var interval: Microseconds
        public var isEncrypted = false
        /// A concurrent flow runs in the opposite direction on the same link.
        public var isBothWays = false
        /// Channels of a flow over L2CAP on LE, or of Enhanced ATT bearers. With L2CAP, `mtu` is the SDU length.
        public var channel: ChannelRequest?
        /// Longest packet type of a BR/EDR flow; `mtu` is then the SDU length.
        public var packets: BREDRPacketType?

        public init(over: FlowKind, direction: FlowDirection, phy: LinkPHY, dataLength: Int, mtu: Int, interval: Microseconds) {
            self.over = over
            self.direction = direction
            self.phy = phy
            self.dataLength = dataLength
            self.mtu = mtu
            self.interval = interval
        }

        /// The flow in the opposite direction, for the same client and server.
        var turned: Self {
            var other = self
            if !over.isSymmetric { other.over = over == .notify ? .write : .notify }
            other.direction = direction == .fromSubject ? .toSubject : .fromSubject
            return other
        }

        /// A flow over L2CAP channels on LE.
        ///
        /// - Parameters:
        ///   - sdu: SDU length; nil for one full K-frame.
        ///   - mps: maximum payload of a K-frame; nil for that of a full link layer packet.
        public init(
            channel direction: FlowDirection, phy: LinkPHY, dataLength: Int, sdu: Int? = nil, mps: Int? = nil, count: Int = 1,
            credits: Int = ChannelRequest.mostCredits, interval: Microseconds
        ) {
            let mps = mps ?? max(ChannelRequest.leastMPS, dataLength - L2CAPHeader.octets)
            self.init(
                over: .channel, direction: direction, phy: phy, dataLength: dataLength, mtu: sdu ?? mps - ChannelLoad.lengthOctets,
                interval: interval)
            channel = ChannelRequest(mps: mps, count: count, credits: credits)
        }

        /// A flow of ATT packets.
        ///
        /// - Parameter bearers: number of Enhanced ATT bearers on an encrypted link, with an ATT packet in each K-frame; nil for the fixed
        ///   channel.
        public init(
            over: FlowKind, bearers: Int?, direction: FlowDirection, phy: LinkPHY, dataLength: Int, mtu: Int, interval: Microseconds
        ) {
            self.init(over: over, direction: direction, phy: phy, dataLength: dataLength, mtu: mtu, interval: interval)
            guard let bearers else { return }
            channel = ChannelRequest(mps: mtu + ChannelLoad.lengthOctets, count: bearers)
            isEncrypted = true
        }

        /// ATT_MTU of a flow for which none is chosen: 247, or on Enhanced ATT bearers the longest below with which the K-frame of an ATT
        /// packet fills whole link layer packets.
        public static func defaultMTU(bearers: Int?, dataLength: Int) -> Int {
            let filled = longestPacket / max(1, dataLength) * dataLength - L2CAPHeader.octets
            return bearers == nil ? filledMTU : max(ChannelRequest.leastMPSOfBearers, filled - ChannelLoad.lengthOctets)
        }

        /// Octets of a link layer packet, and of the ATT packet that fills it on the fixed channel.
        private static let longestPacket = 251
        private static let filledMTU = longestPacket - L2CAPHeader.octets

        /// Number of Enhanced ATT bearers; nil for a flow on the fixed channel or on L2CAP channels.
        public var bearers: Int? { over == .channel ? nil : channel?.count }

        /// A BR/EDR flow.
        ///
        /// - Parameter sdu: SDU length; nil for the capacity of one packet.
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

    /// A part of the theoretical maximum that did not become goodput, with its cause.
    public struct Missing: Sendable, Hashable, Codable {
        public var cause: Limit
        public var kbps: Double
        public var text: String

        public init(cause: Limit, kbps: Double, text: String) { (self.cause, self.kbps, self.text) = (cause, kbps, text) }
    }

    /// Position among concurrent flows, or their sum.
    public struct Place: Sendable, Hashable {
        /// Link number, from 1; nil for the sum of all flows.
        public var link: Int?
        public var links: Int
        /// For the sum: Jain's fairness index, 1 for equal flows, 1/n if one flow has everything.
        public var fairness: Double?
        /// Throughput of each link with evenly spaced anchor points, in kbit/s.
        public var evenShare: Double?

        public init(link: Int? = nil, links: Int, fairness: Double? = nil, evenShare: Double? = nil) {
            (self.link, self.links) = (link, links)
            (self.fairness, self.evenShare) = (fairness, evenShare)
        }
    }

    public var request: Request
    /// Place among concurrent flows; nil for a single flow.
    public var place: Place?
    /// Link parameters during the count; nil if the link was not established.
    public var link: LinkParameters?
    /// Time span of the count, and number of connection events in it.
    public var begin: Microseconds = .zero
    public var end: Microseconds = .zero
    public var events = 0
    /// Packets received within the span.
    public var packets = 0
    public var octets = 0
    /// Tally of the whole flow.
    public var tally = FlowTally()
    public var ceiling: Ceiling?
    public var counters: LinkCounters?
    /// Octets received in each complete `binWidth` of the count; empty if the receiver cannot be observed. Ends after the first hour.
    public var bins: [Int] = []
    public static let binWidth = Microseconds.milliseconds(100)
    /// The first events of the count, if the air was observed.
    public var timeline: EventTimeline?
    /// Results of `ping` and `request`.
    public var roundTrips: RoundTrips?
    /// Queue statistics of the sending host, if it runs in this process.
    public var supply: SupplyCounters?
    public var limit: Limit?
    public var missing: [Missing] = []
    /// Reason why there is no result, or why it is doubtful.
    public var failure: String?
    /// The bench or its environment failed, not the subject.
    public var isEnvironment = false
    /// The sum of the delays with which the machine served the bench since the count began; nil in virtual time. Of several repetitions,
    /// the longest.
    public var machineDelay: Microseconds?
    /// Wall time of the row in milliseconds, in a simulation.
    public var wallMilliseconds: Double = 0
    /// Goodput of each repetition; the row itself is the median one.
    public var repetitions: [Double] = []

    public init(_ request: Request) { self.request = request }

    public var isEncrypted: Bool { link?.isEncrypted ?? (request.packets != nil && request.isEncrypted) }

    public var goodput: Double {
        let span = (end - begin).rawValue
        return span > 0 ? Double(octets * 8) * 1_000 / Double(span) : 0
    }

    /// Percentage of the ceiling for the actual link.
    public var percent: Double {
        guard let limit = ceiling?.perInterval, limit > 0 else { return 0 }
        return goodput / limit * 100
    }

    /// The row with the median goodput among repetitions, with the goodput of all; a failed row takes precedence. Nil if there are none.
    public static func middle(of rows: [ThroughputRow]) -> ThroughputRow? {
        if let failed = rows.first(where: { $0.failure != nil }) { return failed }
        let sorted = rows.sorted { $0.goodput < $1.goodput }
        guard !sorted.isEmpty else { return nil }
        var row = sorted[(sorted.count - 1) / 2]
        if rows.count > 1 { row.repetitions = rows.map(\.goodput) }
        row.machineDelay = rows.compactMap(\.machineDelay).max()
        return row
    }

    /// True if every packet arrived once and intact. Bearers do not keep an order among each other. Core Vol 3, Part F, 3.2.11.
    var isWhole: Bool { tally.isWhole(inOrder: request.bearers ?? 1 == 1) }

    /// Link layer packets with new data per event.
    public var packetsPerEvent: Double {
        guard events > 0, let ceiling else { return 0 }
        return Double(packets * ceiling.fragmentsPerPacket) / Double(events)
    }
}
