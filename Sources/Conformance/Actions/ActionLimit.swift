import BBPackets
import BBTiming

/// The time limit of an action, bounded by that of the case. An action that sends several requests itself restarts it with each: it is the
/// longest time of one answer then, and slow pipes do not add up.
final class ActionLimit {
    private let loop: RunLoop
    private let span: Microseconds
    private let latest: Microseconds
    /// The time of the request whose answer is awaited.
    private var began: Microseconds
    /// True if the limit is that of one answer.
    private(set) var isOfAnswer = false
    private var timer: Timer?
    private var onEnd: () -> Void = {}

    /// - Parameter latest: the end of the case.
    init(_ span: Microseconds, latest: Microseconds, on loop: RunLoop) {
        (self.loop, self.span, self.latest, began) = (loop, span, latest, loop.now)
    }

    var deadline: Microseconds { min(began + span, latest) }

    /// True if the end of the case comes before the answer is late.
    var isOfCase: Bool { began + span > latest }

    /// A further request is sent: its answer has the whole limit.
    func restart() { (began, isOfAnswer) = (loop.now, true) }

    func start(_ onEnd: @escaping () -> Void) {
        self.onEnd = onEnd
        arm()
    }

    func stop() {
        if let timer { loop.cancel(timer) }
        onEnd = {}
    }

    private func arm() {
        timer = loop.schedule(at: deadline) { [unowned self] in loop.now < deadline ? arm() : onEnd() }
    }
}
