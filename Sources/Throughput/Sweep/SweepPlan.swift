import BBPackets
import BBSimulation
import BBTraffic

/// Rows of a sweep: all combinations of the parameters, ordered so that slow changes come last.
public struct SweepPlan: Sendable, Hashable {
    public var over: [FlowKind] = [.notify]
    /// Nil: notifications from the subject, writes to it.
    public var directions: [FlowDirection]?
    public var phys: [LinkPHY] = [.le2M]
    public var dataLengths: [Int] = [251]
    /// Nil for `ThroughputRow.Request.defaultMTU`.
    public var mtus: [Int?] = [nil]
    public var intervals: [Microseconds] = [15_000]
    /// Values of link encryption.
    public var encryption = [false]
    /// Packet types and SDU lengths of BR/EDR flows; nil for an SDU that fills the packet.
    public var packets: [BREDRPacketType] = [.threeDH5]
    public var sdus: [Int?] = [nil]
    /// MPS, number and credits of L2CAP channels on LE, whose SDU lengths are `sdus`; nil for K-frames that fill link layer packets.
    public var mpss: [Int?] = [nil]
    public var channels = 1
    public var credits = ChannelRequest.mostCredits
    /// Numbers of Enhanced ATT bearers for ATT flows; nil for the fixed channel.
    public var bearers: [Int?] = [nil]
    /// True to run a concurrent BR/EDR flow with the first packet type beside each LE row.
    public var isShared = false
    /// Number of subjects, each with a concurrent link.
    public var links = 1
    /// True for concurrent flows in both directions of each link.
    public var isBothWays = false
    /// Counting time of each row, rounded down to complete connection events, but at least one repetition of the fragment pattern.
    public var seconds: Double = 5

    public init() {}

    public var rows: [ThroughputRow.Request] {
        var rows: [ThroughputRow.Request] = []
        for over in over where !over.isBREDR && over != .channel {
            for direction in directions ?? [over.comesFromServer ? .fromSubject : .toSubject] {
                for phy in phys {
                    for length in dataLengths {
                        for mtu in mtus {
                            for interval in intervals {
                                for isEncrypted in encryption {
                                    for count in bearers {
                                        var row = ThroughputRow.Request(
                                            over: over, bearers: count, direction: direction, phy: phy, dataLength: length,
                                            mtu: mtu ?? ThroughputRow.Request.defaultMTU(bearers: count, dataLength: length),
                                            interval: interval)
                                        if isEncrypted { row.isEncrypted = true }
                                        row.isBothWays = isBothWays
                                        rows.append(row)
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        if over.contains(.channel) { rows += channelRows }
        for over in over where over.isBREDR { rows += classicRows(over) }
        return rows
    }

    private var channelRows: [ThroughputRow.Request] {
        var rows: [ThroughputRow.Request] = []
        for direction in directions ?? [.toSubject] {
            for phy in phys {
                for length in dataLengths {
                    for mps in mpss {
                        for sdu in sdus {
                            for interval in intervals {
                                for isEncrypted in encryption {
                                    var row = ThroughputRow.Request(
                                        channel: direction, phy: phy, dataLength: length, sdu: sdu, mps: mps, count: channels,
                                        credits: credits, interval: interval)
                                    (row.isEncrypted, row.isBothWays) = (isEncrypted, isBothWays)
                                    rows.append(row)
                                }
                            }
                        }
                    }
                }
            }
        }
        return rows
    }

    private func classicRows(_ over: FlowKind) -> [ThroughputRow.Request] {
        (directions ?? [.toSubject]).flatMap { direction in
            packets.flatMap { type in
                sdus.flatMap { sdu in
                    (over == .rfcomm ? [true] : encryption).map {
                        ThroughputRow.Request(over: over, direction: direction, packets: type, sdu: sdu, isEncrypted: $0)
                    }
                }
            }
        }
    }

    /// True if a row needs BR/EDR controllers.
    public var needsBREDR: Bool { isShared || over.contains(where: \.isBREDR) }

    /// The concurrent BR/EDR flow of a row; nil if there is none.
    public func companion(of row: ThroughputRow.Request) -> ThroughputRow.Request? {
        guard isShared, !row.over.isBREDR, let type = packets.first else { return nil }
        return ThroughputRow.Request(direction: row.direction, packets: type, sdu: sdus.first ?? nil)
    }

    /// True if a row has several concurrent LE flows and is followed by their sum.
    public var isTogether: Bool { links > 1 || isBothWays }

    /// Number of measured rows, including concurrent flows and their sums.
    public var count: Int {
        isTogether ? rows.count * (links * (isBothWays ? 2 : 1) + 1) : rows.count + rows.count { companion(of: $0) != nil }
    }

    /// Throws an error with a description of an invalid plan.
    public func check() throws(SweepError) {
        for (name, isEmpty) in [
            ("--over", over.isEmpty), ("--phy", phys.isEmpty), ("--data-length", dataLengths.isEmpty), ("--mtu", mtus.isEmpty),
            ("--interval", intervals.isEmpty), ("--packets", packets.isEmpty), ("--sdu", sdus.isEmpty), ("--mps", mpss.isEmpty),
            ("--bearers", bearers.isEmpty),
        ] where isEmpty {
            throw SweepError(text: "\(name) names nothing")
        }
        for length in dataLengths where !HCICommands.LESetDataLength.txOctetsRange.integers.contains(length) {
            throw SweepError(text: "--data-length \(length) is not in 27...251")
        }
        for case let mtu? in mtus where !(23...517).contains(mtu) { throw SweepError(text: "--mtu \(mtu) is not in 23...517") }
        for case let sdu? in sdus where !(FlowPacket.shortest...65_535).contains(sdu) {
            throw SweepError(text: "--sdu \(sdu) is not in \(FlowPacket.shortest)...65535")
        }
        for case let mps? in mpss where !(ChannelRequest.leastMPS...65_533).contains(mps) {
            throw SweepError(text: "--mps \(mps) is not in 23...65533")
        }
        for interval in intervals where !(7_500...4_000_000).contains(interval.rawValue) || interval.rawValue % 1_250 != 0 {
            throw SweepError(text: "--interval \(interval.milliseconds) is not a multiple of 1.25 ms in 7.5...4000")
        }
        try checkBearers()
        try checkTogether()
        if !(seconds > 0 && seconds <= 86_400) { throw SweepError(text: "--seconds \(seconds): more than 0, and at most 86400") }
    }

    private func checkBearers() throws(SweepError) {
        for case let count? in bearers {
            guard (1...ChannelRequest.mostBearers).contains(count) else { throw SweepError(text: "--bearers \(count) is not in 1...5") }
            if let over = over.first(where: { ![.notify, .write, .request].contains($0) }) {
                throw SweepError(text: "--bearers is for --over notify, write and request, not \(over.rawValue)")
            }
            for case let mtu? in mtus where mtu < ChannelRequest.leastMPSOfBearers {
                throw SweepError(text: "--mtu \(mtu) is not in 64...517, as Enhanced ATT bearers need")
            }
        }
    }

    private func checkTogether() throws(SweepError) {
        guard isTogether else { return }
        let option = isBothWays ? "--both" : "--links"
        for row in rows {
            guard [.notify, .write, .channel].contains(row.over) else {
                throw SweepError(text: "\(option) is for --over notify, write and channel, not \(row.over.rawValue)")
            }
            guard links == 1 || row.over.isSymmetric || row.over.comesFromServer == (row.direction == .fromSubject) else {
                throw SweepError(text: "with several links the tester is the client of all: notify from-subject or write to-subject")
            }
        }
        if isShared { throw SweepError(text: "--beside and \(option) exclude each other") }
    }
}

/// A sweep that cannot be run as requested.
public struct SweepError: Error, Sendable, CustomStringConvertible {
    public var text: String
    public var description: String { text }
}
