import Packets

/// The connection supervision timer. Core Vol 6, Part B, 4.5.2.
extension Connection {
    /// Before the first packet, a link has six intervals.
    static let intervalsToEstablish = 6

    func startSupervision() { supervisionTimer.set(at: supervisionDeadline) }

    private var supervisionDeadline: Microseconds {
        lastHeard + (isEstablished ? supervisionTimeout : interval * Self.intervalsToEstablish)
    }

    /// The timer is set rarely, and finds out whether anything was heard meanwhile.
    func superviseAgain() {
        guard !isClosed else { return }
        let deadline = supervisionDeadline
        if deadline > air.loop.now {
            supervisionTimer.set(at: deadline)
        } else if !configuration.quirks.ignoresSupervisionTimeout {
            guard !control.isTerminating else { return close(.connectionTerminatedByLocalHost) }
            close(isEstablished ? .connectionTimeout : .connectionFailedToBeEstablished)
        }
    }
}
