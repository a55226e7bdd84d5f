import BBPackets
import BBTiming

/// Waits in wall time for events of sockets and other programs: an event source signals, and the conditions are checked again.
public final class ConditionVariable {
    private let loop: RunLoop
    private var waits: [(condition: () -> Bool, promise: Promise<Void>)] = []

    public init(on loop: RunLoop) { self.loop = loop }

    /// Reports an event.
    public func signal() {
        for wait in waits where wait.condition() { wait.promise.fulfil(()) }
        waits.removeAll { $0.promise.isSettled }
    }

    /// Waits until the condition holds.
    ///
    /// - Throws: `Unmet` after five minutes, which protect against hanging and are no requirement.
    public func wait(for what: String, _ condition: @escaping () -> Bool) async throws {
        guard !condition() else { return }
        let promise = Promise<Void>(on: loop)
        waits.append((condition, promise))
        do { try await promise.value(until: loop.now + Self.limit) } catch is TimeOut { throw Unmet(what: what) }
    }

    private static let limit = Microseconds.seconds(300)

    public struct Unmet: Error, CustomStringConvertible {
        public var what: String
        public var description: String { "waited 300 s for \(what)" }
    }
}
