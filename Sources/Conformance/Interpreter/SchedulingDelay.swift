import Packets
import Timing

/// How late the machine serves the bench: a timer of the run's own, compared with the clock each time it fires. A bench that comes late itself cannot
/// blame a subject for being late.
final class SchedulingDelay {
    private static let period = Microseconds.milliseconds(20)
    private let loop: RunLoop
    private var timer: Timer?
    private var due = Microseconds.zero
    /// The worst of the case.
    private(set) var worst = Microseconds.zero
    private var delays = SchedulingDelays(period: SchedulingDelay.period)

    init(loop: RunLoop) { self.loop = loop }

    /// Watches from now on; in virtual time nothing is late.
    func start() {
        guard loop.mode == .wall, timer == nil else { return }
        plan()
    }

    func stop() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// The longest delay since a time of the loop. A timer that is overdue at this moment counts.
    func worst(since time: Microseconds) -> Microseconds { max(delays.worst(since: time), pending) }

    /// All delays since a time of the loop together: a packet that was in time arrives at most this much later.
    func total(since time: Microseconds) -> Microseconds { delays.total(since: time) + pending }

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

/// Delays of a periodic timer that exceeded its period.
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
