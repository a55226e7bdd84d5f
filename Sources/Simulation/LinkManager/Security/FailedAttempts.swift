import BBPackets

/// Waiting intervals after failed authentications: longer with each failure, shorter again after a time without failures. Core Vol 2, Part
/// H, 5.1.
struct FailedAttempts {
    static let shortest = Microseconds.milliseconds(500)
    static let longest = Microseconds.seconds(60)
    /// Maximum number of remembered devices.
    static let capacity = 32

    private struct Penalty {
        var wait: Microseconds
        var end: Microseconds
    }

    private var penalties: [BDADDR: Penalty] = [:]

    func isBarred(_ device: BDADDR, at now: Microseconds) -> Bool { penalties[device].map { now < $0.end } ?? false }

    mutating func failed(_ device: BDADDR, at now: Microseconds) {
        let wait = penalties[device].map { Self.next(after: $0, at: now) } ?? Self.shortest
        penalties[device] = Penalty(wait: wait, end: now + wait)
        guard penalties.count > Self.capacity, let oldest = penalties.min(by: { $0.value.end < $1.value.end })?.key else { return }
        penalties[oldest] = nil
    }

    /// Doubles the previous interval, after halving it for each period of eight such intervals without a failure.
    private static func next(after penalty: Penalty, at now: Microseconds) -> Microseconds {
        var wait = min(penalty.wait * 2, longest)
        var quiet = now - penalty.end
        while quiet >= penalty.wait * 8, wait > shortest {
            wait = max(wait / 2, shortest)
            quiet = quiet - penalty.wait * 8
        }
        return wait
    }
}
