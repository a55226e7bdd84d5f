import BBCases
import BBPackets

/// The quality of a failure message that detects a mutant.
public enum KillGrade: String, Sendable, Hashable, Codable, CaseIterable {
    /// The message contains the expectation, the received packet and its number.
    case good
    /// One of the three is missing.
    case incomplete
    /// The message reports a missing packet although an answer was received, or only a case not intended for the defect has found it.
    case misleading

    /// - Parameters:
    ///   - isMeant: true if the case is one of the mutant's expected killers.
    public init(_ result: CaseResult, isMeant: Bool) {
        if !isMeant || result.overlooked != nil {
            self = .misleading
        } else {
            self = Self.missing(in: result.message).isEmpty ? .good : .incomplete
        }
    }

    /// Returns the parts that a message does not contain.
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

/// The packets that answer the same request as another, which a message about a missing packet would hide.
enum AnswersOfAKind {
    /// Returns the packet received instead of an expected one, or nil.
    ///
    /// - Parameters:
    ///   - name: the missing packet.
    ///   - observations: the packets in the window.
    static func instead(of name: String, at side: Side, isAir: Bool, in observations: some Sequence<Observation>) -> Observation? {
        observations.first { seen in
            seen.side == side && seen.isAir == isAir && seen.name != name && !AlternativeEvents.matches(name, seen.name)
                && isAnswer(seen.name, insteadOf: name)
        }
    }

    private static func isAnswer(_ other: String, insteadOf name: String) -> Bool {
        if ResponseNames.att.contains(name) { return ResponseNames.att.contains(other) }
        if ResponseNames.signalling.contains(name) { return ResponseNames.signallingRefusals.contains(other) }
        if ResponseNames.control.contains(name) { return ResponseNames.controlRefusals.contains(other) }
        return ResponseNames.completions.contains(name) && other == HCIEvents.DisconnectionComplete.name
    }
}
