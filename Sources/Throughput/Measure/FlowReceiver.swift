import Packets

/// The receiving end of a flow: checks every packet and counts those that arrive within a time span.
final class FlowReceiver {
    private(set) var tally = FlowTally()
    /// Packets count if they arrive after `begin` and not after `end`.
    private(set) var begin = Microseconds.never
    private(set) var end = Microseconds.never
    private(set) var packets = 0
    private(set) var octets = 0
    private var bins: [Int] = []
    private static let mostBins = 36_000

    func reset() {
        tally = FlowTally()
        (begin, end) = (.never, .never)
        (packets, octets, bins) = (0, 0, [])
    }

    func count(after begin: Microseconds, until end: Microseconds) {
        (self.begin, self.end) = (begin, end)
        (packets, octets, bins) = (0, 0, [])
    }

    func receive(_ packet: RawSpan, at now: Microseconds) {
        guard tally.add(packet), now > begin, now <= end else { return }
        packets &+= 1
        octets &+= packet.byteCount
        let bin = Int((now - begin).rawValue / ThroughputRow.binWidth.rawValue)
        guard bin < Self.mostBins else { return }
        while bins.count <= bin { bins.append(0) }
        bins[bin] &+= packet.byteCount
    }

    /// Octets of each bin that is completely within the span.
    var wholeBins: [Int] {
        guard end != .never else { return [] }
        let whole = min(Self.mostBins, Int((end - begin).rawValue / ThroughputRow.binWidth.rawValue))
        return (0..<whole).map { $0 < bins.count ? bins[$0] : 0 }
    }

    func close(sent: UInt32) { tally.close(sent: sent) }
}
