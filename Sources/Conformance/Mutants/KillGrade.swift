import Cases
import Packets

/// How well the message of a kill leads to the defect.
public enum KillGrade: String, Sendable, Hashable, Codable, CaseIterable {
    /// It says what was expected, what came instead, and which packet shows it.
    case good
    /// One of the three is missing.
    case incomplete
    /// It says that nothing came, and an answer had come; or only a case that is not meant for the defect has found it.
    case misleading

    /// - Parameters:
    ///   - isMeant: whether the case is one of the mutant's expected killers.
    public init(_ result: CaseResult, isMeant: Bool) {
        if !isMeant || result.overlooked != nil {
            self = .misleading
        } else {
            self = Self.missing(in: result.message).isEmpty ? .good : .incomplete
        }
    }

    /// Which of the three a message does not name.
    static func missing(in message: String) -> [String] {
        let message = message.lowercased()
        let expected = ["expected", "must not", "too few to measure"]
        let got = ["got ", "brought it", "came", "sent it"]
        var missing: [String] = []
        if !expected.contains(where: { message.contains($0) }) { missing.append("expected") }
        if !got.contains(where: { message.contains($0) }) { missing.append("got") }
        if message.firstMatch(of: /packets? \d+|at [\d.]+ (s|ms|us)/) == nil { missing.append("packet") }
        return missing
    }
}

/// Which packets answer the same request as another, so that "none came" would hide them.
enum AnswersOfAKind {
    /// What came in place of an expected packet, if anything did.
    ///
    /// - Parameters:
    ///   - name: the packet that did not come.
    ///   - observations: what was seen in the window.
    static func instead(of name: String, at side: Side, isAir: Bool, in observations: some Sequence<Observation>) -> Observation? {
        observations.first { seen in
            seen.side == side && seen.isAir == isAir && seen.name != name && !AlternativeEvents.matches(name, seen.name)
                && isAnswer(seen.name, insteadOf: name)
        }
    }

    private static func isAnswer(_ other: String, insteadOf name: String) -> Bool {
        if name.hasSuffix("_RSP") {
            if name.hasPrefix("ATT_") { return other.hasPrefix("ATT_") && other.hasSuffix("_RSP") }
            if name.hasPrefix("L2CAP_") { return other == "L2CAP_COMMAND_REJECT_RSP" }
            if name.hasPrefix("LL_") { return ["LL_UNKNOWN_RSP", "LL_REJECT_IND", "LL_REJECT_EXT_IND"].contains(other) }
        }
        return name.hasPrefix("LE_") && name.hasSuffix("_Complete") && other == "Disconnection_Complete"
    }
}
