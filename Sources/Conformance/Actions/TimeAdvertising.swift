import BBCases
import BBHost
import BBPackets
import BBProducts
import BBTiming

/// Measures the advertising interval of the device under test and compares it with those of the case's rule.
enum TimeAdvertising: NamedAction {
    static let name = "time advertising"
    static let about =
        "measures the advertising interval without the random delay, and compares it with the rule's intervals"
    static let seconds = TypedArgument.number(
        "seconds", 1...60, default: 20, "most seconds to listen")
    static let events = TypedArgument.number(
        "events", 8...1_000, default: 48, "enough advertising events")
    static var arguments: [ActionArgument] { [seconds.declaration, events.declaration] }
    static let results = ["interval", "events", "fault"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let enough = try context(events)
        let times = try await AdvertisingWatch(context).follow(for: .seconds(try context(seconds))) {
            $0.count >= enough
        }
        guard let estimate = AdvertisingIntervalEstimate(times, jitter: context.jitter) else {
            throw StepFailure(
                .environment,
                "only \(times.count) advertising events were heard, too few to tell their interval")
        }
        let intervals = try context.rule().values.times("intervals")
        let (found, off) = (estimate.interval.text, estimate.tolerance.text)
        let fault =
            estimate.nearest(of: intervals) == nil
            ? "the interval is \(found), give or take \(off), without the random delay, expected \(intervals.map(\.text).joined(separator: ", "))"
            : ""
        return CaseRecord([
            ("interval", .number(Int(estimate.interval.rawValue))), ("events", .number(estimate.count)),
            ("fault", .text(fault)),
        ])
    }
}

/// Checks that the device under test advertises fast for the time in the case's rule.
enum WatchFastAdvertising: NamedAction {
    static let name = "watch fast advertising"
    static let about =
        "measures how long the device advertises at the rule's fast interval"
    static var arguments: [ActionArgument] { [] }
    static let results = ["lasted", "fault"]
    static let needsHost = true
    /// The time in which an event must be received at the fast interval.
    private static let timeout = Microseconds.seconds(3)

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let rule = try context.rule().values
        guard let interval = rule.time("interval"), let length = rule.time("for") else {
            throw StepFailure(.bench, "the rule of this case has no `interval` and `for`")
        }
        let longest = interval + AdvertisingIntervalEstimate.longestDelay + context.jitter
        var slow: (at: Microseconds, gap: Microseconds)?
        let times = try await AdvertisingWatch(context).follow(for: length) { times in
            slow = slowness(times, longest)
            return slow != nil
        }
        guard let first = times.first else {
            throw StepFailure(.environment, "nothing was heard of the device")
        }
        guard let slow else {
            return CaseRecord([("lasted", .number(Int(length.rawValue))), ("fault", .text(""))])
        }
        let lasted = slow.at - first
        let fault =
            "after \(lasted.text) it advertised every \(slow.gap.text), delay included, expected every \(interval.text) for \(length.text)"
        return CaseRecord([("lasted", .number(Int(lasted.rawValue))), ("fault", .text(fault))])
    }

    /// Returns the time at which the events were too far apart, and the smallest gap.
    private static func slowness(_ times: [Microseconds], _ longest: Microseconds) -> (
        at: Microseconds, gap: Microseconds
    )? {
        guard let last = times.last, let first = times.first, last - first >= timeout else {
            return nil
        }
        let recent = times.drop { $0 < last - timeout }
        guard let least = AdvertisingIntervalEstimate.gaps(Array(recent)).min(), least > longest else {
            return nil
        }
        return (recent.first ?? last, least)
    }
}

/// Receives the advertising of the device under test passively.
private struct AdvertisingWatch {
    let context: ActionContext

    init(_ context: ActionContext) { self.context = context }

    /// Listens to the device's advertising.
    ///
    /// - Returns: the times at which its advertising was received.
    /// - Throws: `StepFailure` if there was none.
    func follow(for length: Microseconds, until isEnough: @escaping ([Microseconds]) -> Bool)
        async throws -> [Microseconds]
    {
        do {
            let finder = DeviceFinder(host: try context.driver().host)
            let deadline = context.deadline - .seconds(1)
            return try await finder.follow(
                context.bench.product.peer, for: length, until: deadline, isEnough: isEnough)
        } catch let error as DeviceFinder.NotFound {
            throw StepFailure(.subject, error.description)
        }
    }
}

extension ActionContext {
    /// The maximum delay of a report: zero in virtual time.
    var jitter: Microseconds { bench.slack == .zero ? .zero : .milliseconds(8) }

    /// Returns the rule that the case judges.
    func rule() throws(StepFailure) -> AccessoryProfile.Rule {
        guard let rule = bench.rules.judged else {
            throw StepFailure(.bench, "\(action.name) is for cases with a `rule:`")
        }
        return rule
    }
}

/// Refuses connection parameters that the peripheral requests.
enum RefuseParameters: NamedAction {
    static let name = "refuse parameters"
    static let about = "the host refuses connection parameters that peers request"
    static var arguments: [ActionArgument] { [] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try context.driver().host.parameterPolicy = { _, _ in false }
        return CaseRecord()
    }
}
