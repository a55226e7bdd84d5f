import Packets
import Timing

/// Where flows that are to be counted over the same time wait for one another.
final class PeerDiscovery {
    private let loop: RunLoop
    private let begin: Promise<Microseconds>
    private var missing: Int
    private var settling = Microseconds.zero
    /// The longest count of those that came.
    private(set) var span = Microseconds.zero

    init(_ loop: RunLoop, of flows: Int) {
        (self.loop, missing) = (loop, flows)
        begin = Promise(on: loop)
    }

    /// Comes with a flow that is under way.
    ///
    /// - Returns: when counting begins, once all flows have settled.
    func arrive(settling: Microseconds, span: Microseconds) async throws -> Microseconds {
        (self.settling, self.span) = (max(self.settling, settling), max(self.span, span))
        leave()
        return try await begin.value()
    }

    /// Nobody waits for one that will not come.
    func leave() {
        missing -= 1
        if missing == 0 { begin.fulfil(loop.now + settling) }
    }
}
