import BBPackets

/// Numbered and checked packets of one handle in loopback mode.
struct LoopbackFlow {
    let handle: ConnectionHandle
    private let kind: HCIPacket.Kind
    private(set) var sent: UInt32 = 0
    private(set) var tally = FlowTally()
    private(set) var worstRoundTrip = Microseconds.zero
    private(set) var allRoundTrips = Microseconds.zero
    private var timed = 0
    /// Departure times of the latest packets, by the low bits of their numbers.
    private var departures = [Microseconds](repeating: .zero, count: 1 << 10)
    private var content: [UInt8] = []

    init(_ handle: ConnectionHandle, _ kind: HCIPacket.Kind) {
        (self.handle, self.kind) = (handle, kind)
    }

    mutating func next(octets: Int, at now: Microseconds) -> HCIPacket {
        FlowPacket.write(sequence: sent, count: octets, into: &content)
        departures[Int(sent) & (departures.count - 1)] = now
        sent &+= 1
        guard kind == .sco else { return HCIPacket(acl: handle, .first, content) }
        var writer = ByteWriter(reserving: 3 + content.count)
        writer.u16(handle.rawValue)
        writer.u8(UInt8(truncatingIfNeeded: content.count))
        writer.bytes.append(contentsOf: content)
        return HCIPacket(.sco, writer.bytes)
    }

    mutating func take(_ content: RawSpan, at time: Microseconds) {
        guard tally.add(content) else { return }
        let number = UInt32(littleEndian: content.unsafeLoadUnaligned(as: UInt32.self))
        let roundTrip = max(.zero, time - departures[Int(number) & (departures.count - 1)])
        worstRoundTrip = max(worstRoundTrip, roundTrip)
        allRoundTrips = allRoundTrips + roundTrip
        timed += 1
    }

    mutating func close() { tally.close(sent: sent) }

    var meanRoundTrip: Microseconds { timed == 0 ? .zero : Microseconds(allRoundTrips.rawValue / Int64(timed)) }
}
