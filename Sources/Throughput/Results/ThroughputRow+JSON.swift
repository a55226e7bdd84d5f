import BBPackets
import Foundation

/// JSON form of a row, as written by `--json`; documented in docs/guide/throughput.md.
extension ThroughputRow: Encodable {
    private enum Key: String, CodingKey {
        case over, direction, phy, mtu, encrypted, percent, retransmissions, limit, actual, window, received, missing, explanation, failure
        case repetitions, bins, links, link, sum, fairness, mps, channels, bearers, credits
        case isBothWays = "both_ways"
        case evenShare = "even_share_kbps"
        case roundTrips = "round_trip_us"
        case dataLength = "data_length"
        case interval = "interval_ms"
        case goodput = "goodput_kbps"
        case ceiling = "ceiling_kbps"
        case backToBack = "back_to_back_kbps"
        case packetsPerEvent = "packets_per_event"
        case wall = "wall_ms"
        case machineDelay = "machine_delay_ms"
    }

    private struct Actual: Encodable {
        var phy: String
        var returnPHY: String
        var octets: Int
        var time: Int64
        var usableOctets: Int
        var mtu: Int
        var interval: Double
        var sdu: Int?
        var mps: Int?

        enum CodingKeys: String, CodingKey {
            case phy, octets, mtu, sdu, mps
            case returnPHY = "return_phy"
            case time = "time_us"
            case usableOctets = "usable_octets"
            case interval = "interval_ms"
        }
    }

    private struct Window: Encodable {
        var begin: Int64
        var end: Int64
        var events: Int

        enum CodingKeys: String, CodingKey {
            case events
            case begin = "begin_us"
            case end = "end_us"
        }
    }

    private struct Received: Encodable {
        var packets: Int
        var octets: Int
        var lost: Int
        var duplicated: Int
        var reordered: Int
        var corrupted: Int
    }

    private struct Repetitions: Encodable {
        var goodput: [Double]
        var median: Double
        var deviation: Double
        var fifth: Double
        var ninetyFifth: Double

        init(_ values: [Double]) {
            let figures = RobustStatistics(values)
            goodput = values.map(ThroughputRow.rounded)
            median = ThroughputRow.rounded(figures.median)
            deviation = ThroughputRow.rounded(figures.medianAbsoluteDeviation)
            fifth = ThroughputRow.rounded(figures.percentile(5))
            ninetyFifth = ThroughputRow.rounded(figures.percentile(95))
        }

        enum CodingKeys: String, CodingKey {
            case goodput = "goodput_kbps"
            case median = "median_kbps"
            case deviation = "mad_kbps"
            case fifth = "p5_kbps"
            case ninetyFifth = "p95_kbps"
        }
    }

    private struct Bins: Encodable {
        var width = ThroughputRow.binWidth.milliseconds
        var goodput: [Double]
        var median: Double
        var fifth: Double
        var ninetyFifth: Double

        init(_ octets: [Int]) {
            goodput = octets.map { ThroughputRow.rounded(Double($0 * 8_000) / Double(ThroughputRow.binWidth.rawValue)) }
            let figures = RobustStatistics(goodput)
            (median, fifth, ninetyFifth) = (
                ThroughputRow.rounded(figures.median), ThroughputRow.rounded(figures.percentile(5)),
                ThroughputRow.rounded(figures.percentile(95))
            )
        }

        enum CodingKeys: String, CodingKey {
            case width = "width_ms"
            case goodput = "goodput_kbps"
            case median = "median_kbps"
            case fifth = "p5_kbps"
            case ninetyFifth = "p95_kbps"
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(request.over, forKey: .over)
        try values.encode(request.direction, forKey: .direction)
        try values.encode(request.packets?.rawValue ?? request.phy.rawValue, forKey: .phy)
        try values.encode(request.dataLength, forKey: .dataLength)
        try values.encode(request.mtu, forKey: .mtu)
        try values.encode(request.packets == nil ? request.interval.milliseconds : nil, forKey: .interval)
        try values.encodeIfPresent(request.channel?.mps, forKey: .mps)
        try values.encodeIfPresent(request.bearers, forKey: .bearers)
        if request.over == .channel {
            try values.encodeIfPresent(request.channel?.count, forKey: .channels)
            try values.encodeIfPresent(request.channel?.credits, forKey: .credits)
        }
        try values.encode(isEncrypted, forKey: .encrypted)
        try values.encode(Self.rounded(goodput), forKey: .goodput)
        try values.encode(Self.rounded(ceiling?.perInterval ?? 0), forKey: .ceiling)
        try values.encode(Self.rounded(ceiling?.backToBack ?? 0), forKey: .backToBack)
        try values.encode(Self.rounded(percent), forKey: .percent)
        try values.encode(Self.rounded(packetsPerEvent), forKey: .packetsPerEvent)
        try values.encode(counters?.retransmissions, forKey: .retransmissions)
        try values.encode(limit, forKey: .limit)
        try values.encodeIfPresent(actual, forKey: .actual)
        try values.encode(Window(begin: begin.rawValue, end: end.rawValue, events: events), forKey: .window)
        try values.encode(received, forKey: .received)
        try values.encode(missing, forKey: .missing)
        try values.encode(explanation, forKey: .explanation)
        try values.encodeIfPresent(failure, forKey: .failure)
        try values.encodeIfPresent(repetitions.isEmpty ? nil : Repetitions(repetitions), forKey: .repetitions)
        try values.encodeIfPresent(bins.isEmpty ? nil : Bins(bins), forKey: .bins)
        try values.encodeIfPresent(roundTrips, forKey: .roundTrips)
        try values.encode(Self.rounded(wallMilliseconds), forKey: .wall)
        try values.encodeIfPresent(machineDelay.map { Self.rounded($0.milliseconds) }, forKey: .machineDelay)
        try encodePlace(&values)
    }

    private func encodePlace(_ values: inout KeyedEncodingContainer<Key>) throws {
        try values.encodeIfPresent(request.isBothWays ? true : nil, forKey: .isBothWays)
        guard let place else { return }
        try values.encode(place.links, forKey: .links)
        try values.encodeIfPresent(place.link, forKey: .link)
        try values.encodeIfPresent(place.link == nil ? true : nil, forKey: .sum)
        try values.encodeIfPresent(place.fairness.map(Self.rounded), forKey: .fairness)
        try values.encodeIfPresent(place.evenShare.map(Self.rounded), forKey: .evenShare)
    }

    private var actual: Actual? {
        link.map {
            Actual(
                phy: $0.phy.rawValue, returnPHY: $0.returnPHY.rawValue, octets: $0.octets, time: $0.time.rawValue,
                usableOctets: $0.usableOctets, mtu: $0.mtu, interval: $0.interval.milliseconds,
                sdu: $0.channels?.sdu, mps: $0.channels?.mps)
        }
    }

    private var received: Received {
        Received(
            packets: packets, octets: octets, lost: tally.lost, duplicated: tally.duplicated, reordered: tally.reordered,
            corrupted: tally.corrupted)
    }

    static func rounded(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }
}

/// The results of a run of `bluebench throughput`.
public struct ThroughputReport: Sendable, Encodable {
    public var wallSeconds: Double
    public var virtualSeconds: Double
    public var rows: [ThroughputRow]
    public var ladder: [LadderRung]?
    public var seed: UInt64 = 0
    /// Devices and settings of the measurement.
    public var setup: ThroughputSetup?
    /// Number of jobs and timers run by the loop.
    public var steps = 0
    /// Number of packets on the simulated air.
    public var transmissions = 0

    public init(wallSeconds: Double = 0, virtualSeconds: Double = 0, rows: [ThroughputRow] = []) {
        self.wallSeconds = wallSeconds
        self.virtualSeconds = virtualSeconds
        self.rows = rows
    }

    private enum Key: String, CodingKey {
        case rows, ladder, seed, setup, steps, transmissions
        case wall = "wall_s"
        case virtual = "virtual_s"
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(ThroughputRow.rounded(wallSeconds), forKey: .wall)
        try values.encode(ThroughputRow.rounded(virtualSeconds), forKey: .virtual)
        try values.encode(seed, forKey: .seed)
        try values.encodeIfPresent(setup, forKey: .setup)
        try values.encode(steps, forKey: .steps)
        try values.encode(transmissions, forKey: .transmissions)
        try values.encode(rows, forKey: .rows)
        try values.encodeIfPresent(ladder, forKey: .ladder)
    }

    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + [UInt8(ascii: "\n")]
    }
}
