import Cases
import Packets
import Timing
import Transport

/// Everything observed in one case, in order, and who waits for what.
final class ObservationLog {
    private(set) var observations: [Observation] = []
    private let loop: RunLoop
    private var waiters: [Waiter] = []
    private var nextWaiter = 0
    /// Why nothing more is waited for.
    private(set) var broken: (any Error)?
    /// Ends what waits for something else than a packet.
    private var interrupts: [Int: () -> Void] = [:]
    private var bounds = RunBounds()
    private var began = Microseconds.zero
    private var octets = 0
    /// What a report shows of the packets; nil where nobody wants to see them.
    var trail: PacketTrail?
    /// No more is kept, here or in the capture.
    private(set) var isFull = false

    private struct Waiter {
        var id: Int
        var wants: (Observation) -> Bool
        var found: Promise<Int>
    }

    init(loop: RunLoop) {
        self.loop = loop
    }

    /// The place of the next observation.
    var end: Int { observations.count }

    /// Sets what a case may use up, and lets it begin.
    func limit(_ bounds: RunBounds) {
        self.bounds = bounds
        began = MonotonicClock.now()
    }

    /// Why the case must end, if it has used up what it may.
    func overrun() -> StepFailure? {
        if isFull {
            let most = Side.allCases.map { side in (side, observations.count { $0.side == side && !$0.isAir }) }.max { $0.1 < $1.1 }
            let share = most.map { ", \($0.1) of them from the \($0.0.rawValue)" } ?? ""
            let kept = "\(observations.count) packets with \(octets >> 20) MiB were observed\(share)"
            return StepFailure(.environment, "\(kept): that is the limit of a case, and later ones are not captured")
        }
        guard loop.mode == .virtual, MonotonicClock.now() - began > bounds.machineTime else { return nil }
        let text =
            "the case took \(bounds.machineTime.text) of the machine's time, which is the limit, and got to \(loop.now.text) of its own"
        return StepFailure(.environment, text)
    }

    /// Takes the packet into account; false when there is no room for it.
    private func hasRoom(for content: Observation.Content) -> Bool {
        guard !isFull else { return false }
        octets += content.count
        isFull = observations.count >= bounds.packets || octets > bounds.octets
        let isClockDue = observations.count % 1_024 == 1_023
        if isFull || isClockDue, let overrun = overrun() { breakOff(overrun) }
        return !isFull
    }

    func add(_ side: Side, _ name: String, _ content: Observation.Content, number: Int, at time: Microseconds) {
        guard hasRoom(for: content) else { return }
        var observation = Observation(index: observations.count, side: side, name: name, content: content, number: number, time: time)
        trail?.add(observation)
        if let index = waiters.firstIndex(where: { $0.wants(observation) }) {
            observation.isTaken = true
            observations.append(observation)
            waiters.remove(at: index).found.fulfil(observation.index)
        } else {
            observations.append(observation)
        }
    }

    /// A device is gone, or the case has used up what it may: what is still waited for will never come, and waiting says nothing about the subject.
    func breakOff(_ reason: any Error) {
        broken = reason
        for waiter in waiters { waiter.found.fail(reason) }
        waiters = []
        let ended = interrupts.values
        interrupts = [:]
        for interrupt in ended { interrupt() }
    }

    /// Has a wait for something else than a packet end, too, when nothing more is waited for.
    ///
    /// - Returns: what `stopInterrupting` takes when the wait has ended.
    func interrupting(_ interrupt: @escaping () -> Void) -> Int {
        nextWaiter += 1
        interrupts[nextWaiter] = interrupt
        return nextWaiter
    }

    func stopInterrupting(_ id: Int) { interrupts[id] = nil }

    /// Lets time pass.
    ///
    /// - Throws: the loss of a device, or another reason that ends the wait.
    func rest(until deadline: Microseconds) async throws {
        _ = try await take(from: end, until: deadline) { _ in false }
    }

    /// Takes the first observation from `start` on that is wanted, waiting for it until `deadline`; nil when none comes.
    ///
    /// - Throws: the loss of a device, or another reason that ends the wait.
    func take(from start: Int, until deadline: Microseconds, where wants: @escaping (Observation) -> Bool) async throws -> Observation? {
        for index in observations.indices.dropFirst(start) where !observations[index].isTaken && wants(observations[index]) {
            observations[index].isTaken = true
            return observations[index]
        }
        if let broken { throw broken }
        let id = nextWaiter
        nextWaiter += 1
        let found = Promise<Int>(on: loop)
        waiters.append(Waiter(id: id, wants: wants, found: found))
        defer { waiters.removeAll { $0.id == id } }
        do {
            return observations[try await found.value(until: deadline)]
        } catch is TimeOut {
            return nil
        }
    }
}
