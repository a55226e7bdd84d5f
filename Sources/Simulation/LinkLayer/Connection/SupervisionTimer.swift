import BBPackets
import BBTiming

/// A timer for a deadline that moves with nearly every packet. It is set rarely; when it fires, it checks if the deadline has moved.
///
/// Both closures must capture the owner of the timer unowned.
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

    /// Starts the timer for the current deadline; needed when the deadline may have moved closer.
    func start() { start(at: deadline()) }

    /// Checks the deadline at another time.
    func start(at time: Microseconds) { timer.set(at: time) }

    func cancel() { timer.cancel() }
}
