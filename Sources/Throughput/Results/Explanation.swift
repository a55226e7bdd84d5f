import BBPackets
import BBTraffic

/// Splits the theoretical maximum into goodput and losses by cause, and names the limiting factor.
struct Explanation {
    private(set) var missing: [ThroughputRow.Missing] = []
    private(set) var limit = Limit.air

    /// Minimum share of the PHY's rate that counts as a limit.
    static let noticeable = 0.15
    /// Share of the ceiling at which it counts as reached.
    static let reached = 0.99

    /// - Parameters:
    ///   - operations: number of concurrent operations that wait for an answer; 0 for packets without one.
    ///   - short: data length below the requested one, if the subject limits it.
    init(
        goodput: Double, link: LinkParameters, ceiling: Ceiling, limited: Ceiling, counters: LinkCounters?, supply: SupplyCounters?,
        acknowledged operations: Int = 0, replies: [Int] = [], short: ShortDataLength? = nil
    ) {
        let full = Self.unshrunk(link, replies)
        if let short { add(.dataLength, Self.unshrunk(short.lengthened(link), replies).backToBack - full.backToBack, short.text) }
        addFraming(link, full, replies)
        add(.interval, full.backToBack - ceiling.perInterval, Self.intervalText(link, ceiling))
        let lost = Self.retransmissionShare(counters)
        if let counters, lost > 0 {
            add(
                .retransmissions, min(lost * ceiling.perInterval, ceiling.perInterval - goodput),
                "\(counters.retransmissions) packets were sent again")
        }
        add(
            .eventLength, ceiling.perInterval - limited.perInterval,
            "at most \(Self.figure(limited.exchangesPerEvent)) exchanges in an event")
        let explained = missing.filter { !Self.ofCeiling.contains($0.cause) }.reduce(0) { $0 + $1.kbps }
        let rest = ceiling.perInterval - goodput - explained
        let cause = operations > 0 ? Limit.acknowledgement : Self.idleCause(counters, supply, exchanges: limited.exchangesPerEvent)
        let text =
            operations > 1
            ? "\(operations) operations at once, each waits for its answer"
            : counters == nil ? Self.dongleText(cause, supply, exchanges: limited.exchangesPerEvent) : cause.text
        if rest > ceiling.perInterval * 0.001 { add(cause, rest, text) }
        limit = verdict(goodput: goodput, full: full, ceiling: ceiling)
    }

    /// Parts that are missing even at the ceiling.
    static let ofCeiling: [Limit] = [.interval, .sdu, .mps, .dataLength]

    /// Adds the parts that long SDUs in K-frames of full link layer packets would have.
    private mutating func addFraming(_ link: LinkParameters, _ full: Ceiling, _ replies: [Int]) {
        guard let channels = link.channels else { return }
        var unbroken = link
        unbroken.channels?.sdu = 65_535
        let withoutSDUs = Self.unshrunk(unbroken, replies)
        var fitting = unbroken
        fitting.channels?.mps = max(ChannelLoad.lengthOctets + 1, link.usableOctets - LinkParameters.l2capHeader)
        let withoutMPS = Self.unshrunk(fitting, replies)
        let frames = channels.payloads(ofSDU: channels.sdu)
        let count = frames.count == 1 ? "one K-frame" : "\(frames.count) K-frames"
        add(
            .sdu, withoutSDUs.backToBack - full.backToBack,
            "\(channels.sdu) octets take \(count), the last of \(frames.last ?? 0) octets of \(channels.mps)")
        add(
            .mps, withoutMPS.backToBack - withoutSDUs.backToBack,
            "K-frames of \(channels.mps) octets take link layer packets of up to \(link.usableOctets)")
    }

    private mutating func add(_ cause: Limit, _ kbps: Double, _ text: String) {
        guard kbps > 0.05 else { return }
        if let index = missing.firstIndex(where: { $0.cause == cause }) {
            missing[index].kbps = ((missing[index].kbps + kbps) * 10).rounded() / 10
            return
        }
        missing.append(ThroughputRow.Missing(cause: cause, kbps: (kbps * 10).rounded() / 10, text: text))
    }

    private func verdict(goodput: Double, full: Ceiling, ceiling: Ceiling) -> Limit {
        guard goodput < ceiling.perInterval * Self.reached else {
            let lost = missing.filter { Self.ofCeiling.contains($0.cause) }.max { $0.kbps < $1.kbps }
            if let lost, lost.cause != .interval, lost.kbps > full.backToBack * Self.noticeable { return lost.cause }
            return ceiling.perInterval < full.backToBack * (1 - Self.noticeable) ? .interval : .air
        }
        return missing.filter { !Self.ofCeiling.contains($0.cause) }.max { $0.kbps < $1.kbps }?.cause ?? .air
    }

    /// The ceiling of the same link with full-length packets, ignoring the interval.
    private static func unshrunk(_ link: LinkParameters, _ replies: [Int]) -> Ceiling {
        var link = link
        link.time = max(link.time, link.phy.longestTime)
        return Ceiling(link, replies: replies)
    }

    private static func intervalText(_ link: LinkParameters, _ ceiling: Ceiling) -> String {
        let exchanges = "whole exchanges in \(figure(link.interval.milliseconds)) ms: \(figure(ceiling.exchangesPerEvent))"
        guard link.usableOctets < link.octets else { return exchanges }
        return "the interval leaves \(link.time.rawValue) us for a packet, \(link.usableOctets) octets; " + exchanges
    }

    /// Share of air time used for retransmissions.
    private static func retransmissionShare(_ counters: LinkCounters?) -> Double {
        guard let counters, counters.retransmissions > 0, counters.exchanges > 0 else { return 0 }
        return Double(counters.retransmissions) / Double(counters.exchanges + counters.retransmissions)
    }

    /// Cause of idle air time. For a dongle only the host's counters are known: packets in the controller and waiting packets.
    private static func idleCause(_ counters: LinkCounters?, _ supply: SupplyCounters?, exchanges: Double) -> Limit {
        if let supply, supply.refusedWithoutCredits > 0, supply.refusedWithoutCredits * 2 >= supply.refused { return .creditsOfChannel }
        if let counters {
            if counters.endedSilent > counters.endedEmpty + counters.endedAtLimit { return .retransmissions }
            if counters.endedAtLimit > counters.endedEmpty { return .eventLength }
            if counters.endedFull > counters.endedEmpty { return .peer }
        }
        guard let supply else { return .peer }
        if supply.ranDry > 0, supply.ranDry >= supply.waitingForCredits { return .host }
        if counters != nil { return .credits }
        guard supply.waitingForCredits > 0 else { return .host }
        return Double(supply.mostInController) < exchanges ? .credits : .peer
    }

    private static func dongleText(_ cause: Limit, _ supply: SupplyCounters?, exchanges: Double) -> String {
        switch cause {
        case .credits:
            let held = supply.map { "\($0.mostInController)" } ?? "few"
            return
                "the controller holds \(held) packets, an event takes \(figure(exchanges)), and what comes free during it is refilled too late"
        case .peer: return "the peer did not take what was offered, or packets were sent again: a dongle does not tell"
        default: return cause.text
        }
    }

    static func figure(_ value: Double) -> String {
        let tenths = Int(saturating: (value * 100).rounded())
        if tenths % 100 == 0 { return "\(tenths / 100)" }
        return tenths % 10 == 0
            ? "\(tenths / 100).\(tenths % 100 / 10)" : "\(tenths / 100)." + (tenths % 100 < 10 ? "0" : "") + "\(tenths % 100)"
    }
}

extension ThroughputRow {
    /// One sentence with the limit and the causes of missing throughput.
    public var explanation: String {
        if let failure { return failure }
        guard let limit else { return "" }
        var text = "\(limit.rawValue): \(limit.text)"
        if !missing.isEmpty {
            let whole = missing.reduce(goodput) { $0 + $1.kbps }
            text += "; of \(Explanation.figure(whole)) kbit/s back to back, "
            text += missing.map { "\(Explanation.figure($0.kbps)) \($0.cause.rawValue) (\($0.text))" }.joined(separator: ", ")
        }
        if let fairness = place?.fairness { text += "; fairness \(Explanation.figure(fairness)), where 1 is the same for all" }
        if !isWhole {
            text += "; lost \(tally.lost), duplicated \(tally.duplicated), reordered \(tally.reordered), corrupted \(tally.corrupted)"
        }
        return text
    }
}
