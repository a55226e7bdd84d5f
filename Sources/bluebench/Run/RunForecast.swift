import BBPackets

/// The expected duration of a run, corrected by the duration of the cases that have ended.
struct RunForecast {
    private let lengths: [String: Microseconds]
    private let total: Microseconds
    private var announced: Microseconds
    /// The expected and the actual duration of the cases that have ended.
    private var expected = Microseconds.zero
    private var spent = Microseconds.zero
    private var done = 0

    /// The expected duration of ended cases below which nothing is corrected.
    private static let least = Microseconds.seconds(20)

    /// - Parameter lengths: the expected durations of the cases by id.
    init(_ lengths: [String: Microseconds]) {
        self.lengths = lengths
        total = lengths.values.reduce(.zero, +)
        announced = total
    }

    /// The remaining time; nil while nothing is known.
    var left: Microseconds? { expected > .zero ? left(at: factor) : nil }

    private var factor: Double { expected < Self.least ? 1 : spent.seconds / expected.seconds }

    private func left(at factor: Double) -> Microseconds { .seconds(max(0, (total - expected).seconds * factor)) }

    /// Adds a case that has ended after `time`.
    ///
    /// - Returns: a sentence if the whole run will last a quarter longer or shorter than announced.
    mutating func add(_ id: String, took time: Microseconds) -> String? {
        guard let length = lengths[id] else { return nil }
        (expected, spent, done) = (expected + length, spent + time, done + 1)
        let whole = spent + left(at: factor)
        guard expected >= Self.least, abs(whole.seconds - announced.seconds) > announced.seconds / 4, done < lengths.count else {
            return nil
        }
        announced = whole
        return "about \(Self.words(whole)): the first \(done) of \(lengths.count) cases took \(Self.words(spent))"
    }

    static func words(_ length: Microseconds) -> String {
        let seconds = Int(saturating: length.seconds)
        return seconds < 90 ? "\(max(1, seconds)) s" : "\((seconds + 30) / 60) min"
    }
}
