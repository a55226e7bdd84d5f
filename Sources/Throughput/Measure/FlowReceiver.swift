import BBPackets

/// The receiving end of a flow, or of one flow on each of several channels: checks every packet and counts those that arrive within a time
/// span.
final class FlowReceiver {
    private var tallies = [FlowTally()]
    /// Packets count if they arrive after `begin` and not after `end`.
    private(set) var begin = Microseconds.never
    private(set) var end = Microseconds.never
    private(set) var packets = 0
    private(set) var octets = 0
    private var bins: [Int] = []
    private static let mostBins = 36_000

    func reset() {
        tallies = [FlowTally()]
        (begin, end) = (.never, .never)
        (packets, octets, bins) = (0, 0, [])
    }

    func count(after begin: Microseconds, until end: Microseconds) {
        (self.begin, self.end) = (begin, end)
        (packets, octets, bins) = (0, 0, [])
    }

    /// The sum of all flows.
    var tally: FlowTally {
        var sum = tallies[0]
        for other in tallies.dropFirst() { sum.add(other) }
        return sum
    }

    /// - Parameter flow: index of the channel.
    func receive(_ packet: RawSpan, at now: Microseconds, flow: Int = 0) {
        while tallies.count <= flow { tallies.append(FlowTally()) }
        guard tallies[flow].add(packet), now > begin, now <= end else { return }
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

    /// - Parameter sent: number of packets that the sender counted, of all flows together.
    func close(sent: UInt32) {
        guard tallies.count > 1 else { return tallies[0].close(sent: sent) }
        tallies[0].miss(Int(sent) - tallies.reduce(0) { $0 + Int($1.next) })
    }
}
