import Packets
import Timing

/// A timer whose deadline moves with nearly every packet: it is set rarely, and when it fires it looks whether the deadline has moved meanwhile.
///
/// Neither closure may own the timer's owner; they capture it unowned.
final class SupervisionTimer {
    private let deadline: () -> Microseconds
    private var timer: AirTimer!

    init(on loop: RunLoop, deadline: @escaping () -> Microseconds, expired: @escaping () -> Void) {
        self.deadline = deadline
        timer = AirTimer(on: loop) { [unowned self] in
            let latest = deadline()
            if latest > loop.now { start(at: latest) } else { expired() }
        }
    }

    var isSet: Bool { timer.isSet }

    /// Starts it for the deadline as it is now: needed where it may have come nearer.
    func start() { start(at: deadline()) }

    /// Looks at the deadline at another time than its own.
    func start(at time: Microseconds) { timer.set(at: time) }

    func cancel() { timer.cancel() }
}
