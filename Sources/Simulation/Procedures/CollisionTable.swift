import Packets

/// Which procedures may not run beside each other, as data. Core Vol 6, Part B, 5.3.
struct CollisionTable<Kind: Hashable & Sendable>: Sendable {
    /// Two procedures that are incompatible, in either order, and why the one that yields is refused.
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

    /// Procedures that begin with an indication, which cannot be refused.
    let indicated: Set<Kind>
    /// Procedures that end the link: each begins at once, beside any other, and none begins after it.
    let terminating: Set<Kind>
    /// Procedures that run alone: none of this side begins beside one, and the other side's wait until it is over.
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

    /// Why a procedure cannot run beside another; nil when it can.
    func reason(against new: Kind, beside running: Kind) -> ErrorCode? { reasons[Pair(new: new, running: running)] }
}
