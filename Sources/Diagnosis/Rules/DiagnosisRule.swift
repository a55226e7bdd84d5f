import BBCases
import BBPackets
import BBTraffic

/// A rule that explains part of a capture: a pattern of events and its meaning.
public struct DiagnosisRule: Sendable {
    public enum Severity: String, Sendable, CaseIterable, Comparable {
        /// A cause: something was wrong.
        case fault
        /// A consequence; its cause may be another finding or not in the capture.
        case symptom
        /// The capture lacks packets needed for an explanation.
        case capture
        /// Legal, but likely to cause trouble with some peers.
        case risk
        /// Remarkable and harmless.
        case note
        /// Known and of no interest: no finding. A refusal that such a rule matches is not reported either.
        case harmless

        public static func < (a: Severity, b: Severity) -> Bool {
            (allCases.firstIndex(of: a) ?? 0) < (allCases.firstIndex(of: b) ?? 0)
        }
    }

    /// A set of events that count together.
    enum Scope: String, CaseIterable {
        case link, device
        /// A host and its controller: a capture may have several.
        case adapter
        case capture
    }

    /// A condition on one event.
    struct Pattern: Sendable {
        var names: Set<String>
        /// Alternatives; no alternative means no condition.
        var fields: [[FieldPredicate]] = []
        var sender: PacketSender?
    }

    /// An earlier event on the same link.
    struct Earlier: Sendable {
        var pattern: Pattern
        /// Events after it that make it void.
        var without: Pattern?
        /// Limits of the time since the earlier event.
        var atLeast: Microseconds?
        var within: Microseconds?
    }

    public var id: String
    public var position: Position
    public var severity: Severity
    /// Text with fields in braces: `{Reason}`.
    public var message: String
    public var advice: String?
    public var section: String?
    var pattern: Pattern
    var link: [FieldPredicate] = []
    var after: Earlier?
    /// Earlier events on the link that exclude a finding.
    var unless: Pattern?
    /// Later events on the link that exclude a finding.
    var unlessThen: Earlier?
    var times = 1
    var within: Microseconds?
    /// Fields whose values must be equal in all counted events.
    var same: [String] = []
    var scope = Scope.link
    /// Rules whose findings on the same link are consequences of this one.
    var explains: Set<String> = []
    /// True for a rule of the user: its findings are never left out.
    var isOwn = false
    /// True if a tester brings it about on purpose.
    var isProvokable = false
}

extension DiagnosisRule.Scope: Sendable {}
