import BBCases
import BBPackets

/// The limits of a case's resources. A case that exceeds one is INCONC.
struct RunBounds: Sendable {
    /// The number of started steps, which also ends a loop that takes no time.
    var steps = 2 * CaseCheck.mostSteps
    /// The number of observed packets and of their octets, which are kept in memory and in a capture.
    var packets = 500_000
    var octets = 64 << 20
    /// The real time of a case in virtual time, in which the clock may stand still. In real time the case's own limit applies.
    var machineTime = Microseconds.seconds(120)
}
