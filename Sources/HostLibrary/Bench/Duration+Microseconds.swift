import BBPackets

extension Microseconds {
    /// Rounded down; at most ten years.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let limit: Int64 = 315_360_000
        guard seconds.magnitude < limit.magnitude else {
            self = .seconds(Int(seconds < 0 ? -limit : limit))
            return
        }
        self = .seconds(Int(seconds)) + Microseconds(attoseconds / 1_000_000_000_000)
    }

    var duration: Duration { .microseconds(rawValue) + .nanoseconds(halfMicroseconds & 1 == 1 ? 500 : 0) }
}

extension Duration {
    /// The nearest number of units, within a range.
    func units(of microseconds: Int64, in range: ClosedRange<Int64>) -> Int64 {
        let count = (Microseconds(self).rawValue + microseconds / 2) / microseconds
        return min(max(count, range.lowerBound), range.upperBound)
    }
}
