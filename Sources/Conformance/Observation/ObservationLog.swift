import BBCases
import BBPackets
import BBTiming
import BBTransport

/// The observations of a case in order, and the pending waits.
final class ObservationLog {
    private(set) var observations: [Observation] = []
    private let loop: RunLoop
    private var waiters: [Waiter] = []
    private var nextWaiter = 0
    /// The reason why all waits end.
    private(set) var broken: (any Error)?
    /// The functions that end waits for things other than packets.
    private var interrupts: [Int: () -> Void] = [:]
    private var bounds = RunBounds()
    private var began = Microseconds.zero
    private var octets = 0
    /// The packets for a report; nil if no report is wanted.
    var trail: PacketTrail?
    /// Called with each packet on the air.
    var onAir: ((Observation) -> Void)?
    /// True if no more packets are stored, here or in the capture.
    private(set) var isFull = false

    private struct Waiter {
        var id: Int
        var wants: (Observation) -> Bool
        var found: Promise<Int>
    }

    init(loop: RunLoop) {
        self.loop = loop
    }

    /// The position of the next observation.
    var end: Int { observations.count }

    /// Sets the limits of the case and starts measuring.
    func limit(_ bounds: RunBounds) {
        self.bounds = bounds
        began = MonotonicClock.now()
    }

    /// Returns the reason why the case must end if it has exceeded a limit.
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

    /// Counts the packet; returns false if there is no room for it.
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
        if observation.isAir { onAir?(observation) }
        if let index = waiters.firstIndex(where: { $0.wants(observation) }) {
            observation.isTaken = true
            observations.append(observation)
            waiters.remove(at: index).found.fulfil(observation.index)
        } else {
            observations.append(observation)
        }
    }

    /// Ends all waits because a device was lost or the case has exceeded a limit; further waiting says nothing about the subject.
    func breakOff(_ reason: any Error) {
        broken = reason
        for waiter in waiters { waiter.found.fail(reason) }
        waiters = []
        let ended = interrupts.values
        interrupts = [:]
        for interrupt in ended { interrupt() }
    }

    /// Registers a function that ends a wait for something other than a packet.
    ///
    /// - Returns: the argument of `stopInterrupting` after the wait.
    func interrupting(_ interrupt: @escaping () -> Void) -> Int {
        nextWaiter += 1
        interrupts[nextWaiter] = interrupt
        return nextWaiter
    }

    func stopInterrupting(_ id: Int) { interrupts[id] = nil }

    /// Waits until the deadline.
    ///
    /// - Throws: the loss of a device, or another reason that ends the wait.
    func rest(until deadline: Microseconds) async throws {
        _ = try await take(from: end, until: deadline) { _ in false }
    }

    /// Takes the first wanted observation from `start` on, waiting for it until `deadline`; returns nil if there is none.
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
        } catch {
            // The observation can come after the end of the wait and before this task continues.
            if case .success(let index)? = found.result {
                if error is TimeOut, observations[index].time <= deadline { return observations[index] }
                release(index)
            }
            guard error is TimeOut else { throw error }
            return nil
        }
    }

    /// Leaves an observation to another wait, or to a later one.
    private func release(_ index: Int) {
        if let other = waiters.firstIndex(where: { $0.wants(observations[index]) }) {
            waiters.remove(at: other).found.fulfil(index)
        } else {
            observations[index].isTaken = false
        }
    }
}
