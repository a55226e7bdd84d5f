import Packets

/// Where a flow ends: checks every packet, and counts those that arrive within a span.
final class FlowReceiver {
    private(set) var tally = FlowTally()
    /// What arrives after `begin` and not after `end` counts.
    private(set) var begin = Microseconds.never
    private(set) var end = Microseconds.never
    private(set) var packets = 0
    private(set) var octets = 0

    func reset() {
        tally = FlowTally()
        (begin, end) = (.never, .never)
        (packets, octets) = (0, 0)
    }

    func count(after begin: Microseconds, until end: Microseconds) {
        (self.begin, self.end) = (begin, end)
        (packets, octets) = (0, 0)
    }

    func receive(_ packet: RawSpan, at now: Microseconds) {
        guard tally.add(packet), now > begin, now <= end else { return }
        packets &+= 1
        octets &+= packet.byteCount
    }

    func close(sent: UInt32) { tally.close(sent: sent) }
}
