/// Faults of a controller where procedures meet; none by default. Core Vol 6, Part B, 5.2 and 5.3.
public struct ProcedureFaults: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Starts a procedure beside an incompatible one of the peer that it has answered.
    public static let startsBesideServed = ProcedureFaults(rawValue: 1)
    /// Starts encryption while a local procedure is open.
    public static let encryptsBesideOthers = ProcedureFaults(rawValue: 2)
    /// Starts procedures while encryption starts or pauses.
    public static let startsBesideEncryption = ProcedureFaults(rawValue: 4)
    /// Answers the peer's requests while encryption starts or pauses.
    public static let answersBesideEncryption = ProcedureFaults(rawValue: 8)
    /// Serves procedures of the peer that collide with its own.
    public static let rejectsNoCollision = ProcedureFaults(rawValue: 16)
    /// Discards a pending instant when the peer rejects a procedure.
    public static let rejectionClearsInstants = ProcedureFaults(rawValue: 32)
    /// Leaves the response timeout of a rejected procedure running.
    public static let rejectionLeavesTimeout = ProcedureFaults(rawValue: 64)
    /// Restarts one response timeout with each step of any procedure.
    public static let sharesTimeout = ProcedureFaults(rawValue: 128)
    /// Ignores the peer's requests while an instant is pending.
    public static let ignoresRequestsBeforeInstants = ProcedureFaults(rawValue: 256)
}
