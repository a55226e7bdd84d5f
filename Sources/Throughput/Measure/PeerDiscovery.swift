import BBPackets
import BBTiming

/// Synchronizes flows that are counted over the same time span.
final class PeerDiscovery {
    private let loop: RunLoop
    private let begin: Promise<Microseconds>
    private var missing: Int
    private var settling = Microseconds.zero
    /// Longest count among the flows that have arrived.
    private(set) var span = Microseconds.zero

    init(_ loop: RunLoop, of flows: Int) {
        (self.loop, missing) = (loop, flows)
        begin = Promise(on: loop)
    }

    /// Joins with a running flow and waits for the others.
    ///
    /// - Returns: start of counting, once all flows have settled.
    func arrive(settling: Microseconds, span: Microseconds) async throws -> Microseconds {
        (self.settling, self.span) = (max(self.settling, settling), max(self.span, span))
        leave()
        return try await begin.value()
    }

    /// Removes a flow that will not arrive.
    func leave() {
        missing -= 1
        if missing == 0 { begin.fulfil(loop.now + settling) }
    }
}
