import Packets
import Timing
import Transport

/// Everything observed in one case, in order, and who waits for what.
final class ObservationLog {
    private(set) var observations: [Observation] = []
    private let loop: RunLoop
    private var waiters: [Waiter] = []
    private var nextWaiter = 0
    private var broken: TransportError?

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

    func add(_ side: Side, _ name: String, _ content: Observation.Content, number: Int, at time: Microseconds) {
        var observation = Observation(index: observations.count, side: side, name: name, content: content, number: number, time: time)
        if let index = waiters.firstIndex(where: { $0.wants(observation) }) {
            observation.isTaken = true
            observations.append(observation)
            waiters.remove(at: index).found.fulfil(observation.index)
        } else {
            observations.append(observation)
        }
    }

    /// A device is gone: what is still waited for will never come, and waiting for it says nothing about the subject.
    func breakOff(_ reason: TransportError) {
        broken = reason
        for waiter in waiters { waiter.found.fail(reason) }
        waiters = []
    }

    /// Lets time pass.
    ///
    /// - Throws: the loss of a device, which ends the wait.
    func rest(until deadline: Microseconds) async throws {
        _ = try await take(from: end, until: deadline) { _ in false }
    }

    /// Takes the first observation from `start` on that is wanted, waiting for it until `deadline`; nil when none comes.
    ///
    /// - Throws: the loss of a device.
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
