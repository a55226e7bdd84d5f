import BBPackets

/// Incompatible procedures, as data. Core Vol 6, Part B, 5.3.
struct CollisionTable<Kind: Hashable & Sendable>: Sendable {
    /// Two incompatible procedures, in either order, and the error code with which the procedure that yields is rejected.
    struct Row: Sendable {
        var first: Kind
        var second: Kind
        var reason: ErrorCode

        init(_ first: Kind, _ second: Kind, _ reason: ErrorCode) {
            self.first = first
            self.second = second
            self.reason = reason
        }
    }

    private struct Pair: Hashable {
        var new: Kind
        var running: Kind
    }

    /// Procedures that start with an indication, which cannot be rejected.
    let indicated: Set<Kind>
    /// Procedures that end the link: each starts at once beside any other, and no procedure starts after it.
    let terminating: Set<Kind>
    /// Exclusive procedures: no local procedure starts beside one, and the peer's procedures are deferred until it is over.
    let exclusive: Set<Kind>
    private let reasons: [Pair: ErrorCode]

    init(_ rows: [Row], indicated: Set<Kind>, terminating: Set<Kind>, exclusive: Set<Kind> = []) {
        self.indicated = indicated
        self.terminating = terminating
        self.exclusive = exclusive
        var reasons: [Pair: ErrorCode] = [:]
        for row in rows {
            reasons[Pair(new: row.first, running: row.second)] = row.reason
            reasons[Pair(new: row.second, running: row.first)] = row.reason
        }
        self.reasons = reasons
    }

    /// The error code for a new procedure that is incompatible with a running one; nil if they are compatible.
    func reason(against new: Kind, beside running: Kind) -> ErrorCode? { reasons[Pair(new: new, running: running)] }
}
