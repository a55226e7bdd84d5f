import BBPackets
import BBTraffic

extension ThroughputRow {
    /// Attributes missing throughput to the other links, except for retransmissions.
    mutating func explainLinks(_ limits: Ceiling.EventLimits, _ replies: [Int]) {
        guard failure == nil, let ceiling, let link, let place else { return }
        var shared = limits
        shared.links = place.links
        let even = Ceiling(link, limits: shared, replies: replies).perInterval
        self.place?.evenShare = even
        missing.removeAll { !Explanation.ofCeiling.contains($0.cause) }
        var rest = ceiling.perInterval - goodput
        guard rest > 0.05 else { return }
        if let resent = counters.flatMap({ Self.resent($0, goodput, atMost: rest) }) {
            missing.append(resent)
            rest -= resent.kbps
        }
        let text =
            "the other \(place.links == 2 ? "link" : "links") had the radio, with anchor points where the connections began; "
            + "anchor points spread evenly would leave each \(Explanation.figure(even)) kbit/s"
        missing.append(Missing(cause: .radio, kbps: (rest * 10).rounded() / 10, text: text))
        limit = missing.contains { $0.cause == .retransmissions && $0.kbps > rest } ? .retransmissions : .radio
    }

    /// Throughput lost to retransmissions; nil if there were none.
    private static func resent(_ counters: LinkCounters, _ goodput: Double, atMost most: Double) -> Missing? {
        guard counters.retransmissions > 0, counters.exchanges > 0 else { return nil }
        let kbps = min(most, goodput * Double(counters.retransmissions) / Double(counters.exchanges))
        return Missing(
            cause: .retransmissions, kbps: (kbps * 10).rounded() / 10, text: "\(counters.retransmissions) packets were sent again")
    }

    /// Sum of all flows of a row. Nil if there are none.
    init?(sumOf flows: [ThroughputRow]) {
        guard let first = flows.first, let place = first.place else { return nil }
        self.init(first.request)
        let links = place.links
        self.place = Place(link: nil, links: links, evenShare: place.evenShare)
        if let failed = flows.first(where: { $0.failure != nil }) {
            (failure, isEnvironment) = (failed.failure, failed.isEnvironment)
            return
        }
        (link, begin, end, events) = (first.link, first.begin, first.end, flows.map(\.events).max() ?? 0)
        packets = flows.reduce(0) { $0 + $1.packets }
        octets = flows.reduce(0) { $0 + $1.octets }
        for flow in flows { tally.add(flow.tally) }
        bins = (0..<(flows.map(\.bins.count).min() ?? 0)).map { bin in flows.reduce(0) { $0 + $1.bins[bin] } }
        let ofOneLink = flows.filter { $0.place?.link == place.link }
        timeline = flows.lazy.compactMap(\.timeline).first
        ceiling = Ceiling(together: ofOneLink.compactMap(\.ceiling), links: links)
        counters = flows.allSatisfy { $0.counters != nil } ? flows.compactMap(\.counters).reduce(LinkCounters(), +) : nil
        let square = flows.reduce(0) { $0 + $1.goodput * $1.goodput }
        let fairness = goodput * goodput / (Double(flows.count) * square)
        if square > 0 { self.place?.fairness = fairness }
        explainSum(of: flows, ofOneLink, links)
    }

    private mutating func explainSum(of flows: [ThroughputRow], _ ofOneLink: [ThroughputRow], _ links: Int) {
        guard let ceiling else { return }
        for flow in links > 1 ? ofOneLink : flows {
            for part in flow.missing where links == 1 || part.cause == .interval { add(part) }
        }
        if links > 1 {
            var rest = ceiling.perInterval - goodput
            if let resent = counters.flatMap({ Self.resent($0, goodput, atMost: max(0, rest)) }) {
                add(resent)
                rest -= resent.kbps
            }
            let text = "\(links) events in an interval, each of whole exchanges"
            if rest > ceiling.perInterval * 0.001 { add(Missing(cause: .interval, kbps: (rest * 10).rounded() / 10, text: text)) }
        }
        let hasReached = goodput >= ceiling.perInterval * Explanation.reached
        let most = missing.max { $0.kbps < $1.kbps }
        limit = hasReached ? (ofOneLink.first?.limit == .radio ? .air : ofOneLink.first?.limit) : most?.cause ?? .air
    }

    private mutating func add(_ part: Missing) {
        guard let index = missing.firstIndex(where: { $0.cause == part.cause }) else { return missing.append(part) }
        missing[index].kbps = ((missing[index].kbps + part.kbps) * 10).rounded() / 10
        if !missing[index].text.contains(part.text) { missing[index].text += "; " + part.text }
    }

    private var channelWords: [String] {
        guard let channel = request.channel else { return [] }
        let words = request.bearers.map { [$0 == 1 ? "1 bearer" : "\($0) bearers"] }
        return ["MPS \(channel.mps)"] + (words ?? (channel.count > 1 ? ["\(channel.count) channels"] : []))
    }

    /// Description of a flow among concurrent flows or on channels; nil for a single flow.
    public var together: String? {
        var words = channelWords
        guard let place else { return words.isEmpty ? nil : words.joined(separator: ", ") }
        if place.links > 1 { words.append(place.link.map { "link \($0) of \(place.links)" } ?? "all \(place.links) links") }
        if place.links == 1, place.link == nil { words.append("sum") }
        if request.isBothWays { words.append("both ways") }
        return words.joined(separator: ", ")
    }
}
