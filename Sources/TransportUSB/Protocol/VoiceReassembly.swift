import Packets

/// What happened on the isochronous IN pipe.
public struct VoiceStatistics: Sendable, Hashable {
    /// HCI packets that came whole.
    public var packets = 0
    /// Isochronous packets that ended with an error.
    public var lostFrames = 0
    /// Octets thrown away: the rest of a packet that lost a piece, or what begins no packet.
    public var discarded = 0
    /// How often the beginning of a packet had to be looked for.
    public var resynchronisations = 0

    public init() {}
}

/// Puts voice packets together from isochronous packets, which may get lost. Core Vol 4, Part B, 2.1.1 and Part E, 5.4.3.
///
/// While nothing is lost, the pipe is a stream: a packet ends by its length and the next follows, in the same isochronous packet or a new one. After a
/// loss what has come of the packet is thrown away, and a header is looked for: the handle of a link that is up, no reserved bits, the length that
/// the link's packets have. It is looked for at the beginning of isochronous packets, and within them if this dongle has begun packets there before.
struct VoiceReassembly {
    /// Handles of the links that are up.
    var handles: Set<UInt16> = []
    private(set) var statistics = VoiceStatistics()
    private var pending: [UInt8] = []
    /// Data_Total_Length of each link's last packet.
    private var lengths: [UInt16: UInt8] = [:]
    private var isLost = false
    /// A frame without data came within a packet: the piece may be missing, or only late.
    private var isDoubtful = false
    private var beginsWithin = false
    private static let header = 3

    /// Takes an isochronous packet that came without an error.
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

    /// An isochronous packet got lost.
    mutating func frameWasLost() {
        statistics.lostFrames += 1
        giveUp()
    }

    /// The pipe begins anew.
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

    /// A strict look wants the length of the link's packets, too, and one that is not zero.
    private func isHeader(_ octets: UnsafeRawBufferPointer, at start: Int, strict: Bool) -> Bool {
        guard octets.count - start >= Self.header, octets[start + 1] & 0xC0 == 0 else { return false }
        let handle = handle(octets[start], octets[start + 1])
        guard handles.contains(handle) else { return false }
        return !strict || octets[start + 2] == lengths[handle] ?? max(1, octets[start + 2])
    }
}
