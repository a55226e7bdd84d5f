import BBPackets

/// The delays with which the machine runs the bench: a periodic timer is compared with the clock. A late bench cannot attribute
/// lateness to a subject.
public final class SchedulingDelay {
    private static let period = Microseconds.milliseconds(20)
    private let loop: RunLoop
    private var timer: Timer?
    private var due = Microseconds.zero
    /// The longest delay in the case.
    public private(set) var worst = Microseconds.zero
    private var delays = SchedulingDelays(period: SchedulingDelay.period)

    public init(loop: RunLoop) { self.loop = loop }

    /// Starts measuring; there are no delays in virtual time.
    public func start() {
        guard loop.mode == .wall, timer == nil else { return }
        plan()
    }

    public func stop() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// Returns the longest delay since a time of the loop, including a timer that is overdue now.
    public func worst(since time: Microseconds) -> Microseconds { max(delays.worst(since: time), pending) }

    /// Returns the sum of all delays since a time of the loop: a packet sent in time arrives at most this much later.
    public func total(since time: Microseconds) -> Microseconds { delays.total(since: time) + pending }

    private var pending: Microseconds { timer == nil ? .zero : max(.zero, clock - due) }

    private var clock: Microseconds { MonotonicClock.now() - loop.origin }

    private func plan() {
        due = clock + Self.period
        timer = loop.schedule(at: due) { [weak self] in self?.fired() }
    }

    private func fired() {
        let late = clock - due
        worst = max(worst, late)
        delays.note(late, at: clock)
        plan()
    }
}

/// The delays of a periodic timer that exceeded its period.
struct SchedulingDelays {
    private static let most = 1_000
    let period: Microseconds
    private var delays: [(at: Microseconds, by: Microseconds)] = []

    init(period: Microseconds) { self.period = period }

    mutating func note(_ delay: Microseconds, at time: Microseconds) {
        if delay > period, delays.count < Self.most { delays.append((time, delay)) }
    }

    func worst(since time: Microseconds) -> Microseconds { delays.lazy.filter { $0.at >= time }.map(\.by).max() ?? .zero }

    func total(since time: Microseconds) -> Microseconds { delays.lazy.filter { $0.at >= time }.map(\.by).reduce(.zero, +) }
}
