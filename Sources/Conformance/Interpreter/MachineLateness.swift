import Packets
import Timing

/// How late the machine serves the bench: a timer of the run's own, compared with the clock each time it fires. A bench that comes late itself cannot
/// blame a subject for being late.
final class MachineLateness {
    private static let period = Microseconds.milliseconds(20)
    private let loop: RunLoop
    private var timer: Timer?
    private var due = Microseconds.zero
    /// The worst of the case.
    private(set) var worst = Microseconds.zero
    /// When the timer fired late by more than a period, and by how much.
    private var delays: [(at: Microseconds, by: Microseconds)] = []
    private static let mostDelays = 1_000

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

    /// The worst since a time of the loop's; what is late at this moment counts.
    func worst(since time: Microseconds) -> Microseconds {
        let pending = timer == nil ? .zero : clock - due
        return delays.lazy.filter { $0.at >= time }.map(\.by).max().map { max($0, pending) } ?? max(.zero, pending)
    }

    private var clock: Microseconds { MonotonicClock.now() - loop.origin }

    private func plan() {
        due = clock + Self.period
        timer = loop.schedule(at: due) { [weak self] in self?.fired() }
    }

    private func fired() {
        let late = clock - due
        worst = max(worst, late)
        if late > Self.period, delays.count < Self.mostDelays { delays.append((clock, late)) }
        plan()
    }
}
