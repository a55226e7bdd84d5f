import Cases
import Packets

/// What one case may use up, however it is written and whatever its peers do. A case that wants more is INCONC.
struct RunBounds: Sendable {
    /// Steps that begin: a loop that takes no time ends with it.
    var steps = 2 * CaseCheck.mostSteps
    /// Packets observed, and the octets in them: a case keeps them all in memory, and a capture on disk.
    var packets = 500_000
    var octets = 64 << 20
    /// Time of the machine's own clock for a case in virtual time, which may stand still meanwhile. On a wall clock the case's own limit does it.
    var machineTime = Microseconds.seconds(120)
}
