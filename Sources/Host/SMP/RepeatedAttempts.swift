import BBPackets
import BBTiming

/// Waiting interval after a failed pairing, doubled with each further failure. Core Vol 3, Part H, 2.3.6.
struct RepeatedAttempts {
    private struct Entry {
        var interval: Microseconds
        var until: Microseconds
    }

    static let shortest = Microseconds.seconds(1)
    static let longest = Microseconds.seconds(64)
    /// Maximum number of remembered peers; the one whose interval ends first is removed first.
    static let limit = 64

    private var entries: [DeviceAddress: Entry] = [:]
    var count: Int { entries.count }

    func mustWait(_ peer: DeviceAddress, at now: Microseconds) -> Bool { entries[peer].map { now < $0.until } ?? false }

    /// Counts only failures that could have been a guess. A peer without the required IO capability may try again at once.
    mutating func failed(_ peer: DeviceAddress, _ error: HostError, at now: Microseconds) {
        switch error {
        case .peer(.pairingFailed(let reason)), .peer(.pairingRefused(let reason)):
            guard [.confirmValueFailed, .dhKeyCheckFailed, .numericComparisonFailed].contains(reason) else { return }
        default: return
        }
        let interval = nextInterval(peer, at: now)
        if entries.count >= Self.limit, entries[peer] == nil, let first = entries.min(by: { Self.order($0, $1) }) {
            entries[first.key] = nil
        }
        entries[peer] = Entry(interval: interval, until: now + interval)
    }

    private static func order(_ a: (key: DeviceAddress, value: Entry), _ b: (key: DeviceAddress, value: Entry)) -> Bool {
        (a.value.until, a.key.value) < (b.value.until, b.key.value)
    }

    mutating func succeeded(_ peer: DeviceAddress) { entries[peer] = nil }

    /// Twice the last interval, after halving it for each period of its own length without a failure.
    private func nextInterval(_ peer: DeviceAddress, at now: Microseconds) -> Microseconds {
        guard var entry = entries[peer] else { return Self.shortest }
        while entry.interval > Self.shortest, now - entry.until >= entry.interval {
            entry.until = entry.until + entry.interval
            entry.interval = max(Self.shortest, entry.interval / 2)
        }
        if now - entry.until >= Self.shortest, entry.interval <= Self.shortest { return Self.shortest }
        return min(Self.longest, entry.interval * 2)
    }
}
