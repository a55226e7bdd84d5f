import BBPackets

/// Statistics of the isochronous IN pipe.
public struct VoiceStatistics: Sendable, Hashable {
    /// Complete HCI packets.
    public var packets = 0
    /// Isochronous packets that ended with an error.
    public var lostFrames = 0
    /// Octets discarded: the rest of a packet with a lost part, or octets that do not start a packet.
    public var discarded = 0
    /// Number of searches for the start of a packet.
    public var resynchronisations = 0

    public init() {}
}

/// Reassembles voice packets from isochronous packets, which may be lost. Core Vol 4, Part B, 2.1.1 and Part E, 5.4.3.
///
/// Without losses the pipe is a stream: a packet ends by its length and the next one follows, in the same or a new isochronous packet.
/// After a loss, the incomplete packet is discarded, and a header is searched: the handle of an existing link, no reserved bits, and the
/// length of the link's packets. It is searched at the start of isochronous packets, and within them if this dongle has started packets
/// there before.
struct VoiceReassembly {
    /// Handles of the existing links.
    var handles: Set<UInt16> = []
    private(set) var statistics = VoiceStatistics()
    private var pending: [UInt8] = []
    /// Data_Total_Length of each link's last packet.
    private var lengths: [UInt16: UInt8] = [:]
    private var isLost = false
    /// A frame without data arrived within a packet: the data may be lost or only late.
    private var isDoubtful = false
    private var beginsWithin = false
    private static let header = 3

    /// Handles an isochronous packet received without error.
    mutating func frame(_ octets: UnsafeRawBufferPointer, _ deliver: (HCIPacket) -> Void) {
        guard !octets.isEmpty else {
            isDoubtful = isDoubtful || !pending.isEmpty
            return
        }
        if isDoubtful, !pending.isEmpty, isHeader(octets, at: 0, strict: true) { giveUp() }
        isDoubtful = false
        var start = 0
        if isLost {
            guard let found = beginning(in: octets) else {
                statistics.discarded += octets.count
                return
            }
            statistics.discarded += found
            start = found
            isLost = false
        }
        append(UnsafeRawBufferPointer(rebasing: octets[start...]), deliver)
    }

    /// Records a lost isochronous packet.
    mutating func frameWasLost() {
        statistics.lostFrames += 1
        giveUp()
    }

    /// Restarts reassembly after the pipe was opened again.
    mutating func restart() {
        statistics.discarded += pending.count
        pending = []
        lengths = [:]
        (isLost, isDoubtful, beginsWithin) = (false, false, false)
    }

    private mutating func giveUp() {
        if !isLost { statistics.resynchronisations += 1 }
        statistics.discarded += pending.count
        pending = []
        isLost = true
    }

    private mutating func append(_ octets: UnsafeRawBufferPointer, _ deliver: (HCIPacket) -> Void) {
        let before = pending.count
        pending.append(contentsOf: octets)
        var start = 0
        while pending.count - start >= Self.header {
            let plausible = pending.withUnsafeBytes { isHeader($0, at: start, strict: false) }
            guard plausible else {
                pending.removeFirst(start)
                return giveUp()
            }
            let length = Self.header + Int(pending[start + 2])
            guard pending.count - start >= length else { break }
            finish(HCIPacket(.sco, Array(pending[start..<start + length])), deliver)
            start += length
            if start > before, start < pending.count { beginsWithin = true }
        }
        pending.removeFirst(start)
    }

    private mutating func finish(_ packet: HCIPacket, _ deliver: (HCIPacket) -> Void) {
        if let handle = packet.dataHandle { lengths[handle.rawValue] = UInt8(truncatingIfNeeded: packet.bytes.count - Self.header) }
        statistics.packets += 1
        deliver(packet)
    }

    private func beginning(in octets: UnsafeRawBufferPointer) -> Int? {
        let last = beginsWithin ? octets.count - Self.header : 0
        guard last >= 0 else { return nil }
        return (0...last).first { isHeader(octets, at: $0, strict: true) }
    }

    private func handle(_ low: UInt8, _ high: UInt8) -> UInt16 { (UInt16(low) | UInt16(high) << 8) & 0x0FFF }

    /// A strict check also requires the length of the link's previous packets, and a length other than zero.
    private func isHeader(_ octets: UnsafeRawBufferPointer, at start: Int, strict: Bool) -> Bool {
        guard octets.count - start >= Self.header, octets[start + 1] & 0xC0 == 0 else { return false }
        let handle = handle(octets[start], octets[start + 1])
        guard handles.contains(handle) else { return false }
        return !strict || octets[start + 2] == lengths[handle] ?? max(1, octets[start + 2])
    }
}
