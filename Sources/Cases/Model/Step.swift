import BBPackets

/// The side that acts or observes.
public enum Side: String, Sendable, Hashable, CaseIterable {
    case tester
    case subject
}

/// A step of a case.
public struct Step: Sendable, Hashable {
    public var position: Position
    public var side: Side
    /// The role in a procedure's step, which determines the side when the procedure is used.
    public var role: String?
    public var kind: Kind
    /// The name that `since:` refers to.
    public var label: String?
    /// The requirement that the step checks, as a sentence. A failure of the step has the verdict FAIL for that requirement.
    public var states: String?
    /// The name of the saved result.
    public var saveAs: String?
    /// The step is skipped if this condition is false.
    public var condition: Requirement?
    /// The limit of the step, which replaces the case's limit for steps.
    public var limit: Microseconds?
    /// The verdict of the case if the step fails although the specification allows the behaviour.
    public var otherwise: Otherwise?

    public enum Otherwise: String, Sendable, Hashable, CaseIterable {
        /// The subject cannot be judged.
        case inconclusive
        /// The subject or the tester does not have the tested feature or does not use it.
        case notApplicable = "not applicable"
        /// The element of the innermost `each` cannot be judged; without a judged element, neither can the subject.
        case next
    }

    public indirect enum Kind: Sendable, Hashable {
        case send(Command)
        case action(Action)
        case expect(Expectation)
        case expectNone(Expectation)
        case measure(Measurement)
        case air(AirStep)
        case check(Operand, Predicate)
        case wait(Window.Length)
        /// A mark that `since:` can refer to.
        case mark
        case repeated(times: Operand, counter: String?, [Step])
        /// Steps for each element of a list; the element has the given name.
        case each(Operand, called: String, [Step])
        /// Steps that are repeated after a failure, up to the total number of attempts.
        case attempts(Int, [Step], between: [Step])
        case parallel([[Step]])
        case either([[Step]])
        case until(Expectation, atMost: Int, [Step])
        case procedure(Use)
    }
}

extension Step {
    /// The maximum number of list elements for which steps run.
    package static let mostElements = 64
}

/// A PDU to send, by specification name: an HCI command, or an ATT, SMP or L2CAP signalling PDU on a connection.
public struct Command: Sendable, Hashable {
    public var name: String
    public var fields: [Operand.Entry]
    /// Octets sent instead of encoded fields, for malformed PDUs.
    public var raw: Operand?
    /// Octets after the fields.
    public var trailing: Operand?
    /// The connection, for PDUs above HCI.
    public var connection: Operand?
    public var answer: Answer

    /// The controller's expected answer to a command.
    public enum Answer: Sendable, Hashable {
        /// Status 0 in Command Complete or Command Status.
        case success
        case fields([FieldPredicate])
        /// The answer is not awaited.
        case ignored
    }
}

/// A named action of the bench's host.
public struct Action: Sendable, Hashable {
    public var name: String
    public var arguments: [Operand.Entry]
    /// Predicates on the result, or on the `error` of an action with an expected failure.
    public var result: [FieldPredicate]
}

/// An expected event or PDU, with its time.
public struct Expectation: Sendable, Hashable {
    public var name: String
    public var fields: [FieldPredicate]
    public var window: Window?
    /// The label of the step from which packets count; by default the last step that acted.
    public var since: String?
    /// True if no other event of the same name may precede it.
    public var isStrict: Bool
}

extension Step {
    /// True if the step waits for the same packet, with the same fields, from the same step on.
    package func expects(_ other: Expectation) -> Bool {
        guard case .expect(let own) = kind, own.name == other.name, own.since == other.since, own.fields.count == other.fields.count else {
            return false
        }
        return zip(own.fields, other.fields).allSatisfy { $0.name == $1.name && $0.predicate == $1.predicate }
    }
}

extension Expectation {
    /// The name of the list element that satisfied `some`, which is saved with the packet.
    package static let match = "match"

    /// The list that must contain an element with the expected values.
    package var listSearched: (name: String, element: Predicate)? {
        for field in fields { if case .anyElement(let element) = field.predicate { return (field.name, element) } }
        return nil
    }
}

/// The time in which something must happen, from the start of the step.
public struct Window: Sendable, Hashable {
    public var notBefore: Length?
    public var within: Length?

    public enum Length: Sendable, Hashable {
        case time(Microseconds)
        /// A number of connection intervals; the interval is taken at the start of the step.
        case connectionEvents(Int)
        /// A number of advertising intervals, as last set on either side.
        case advertisingEvents(Int)
        /// `$gap`, `$count connection events`: a saved number in a unit, taken at the start of the step.
        case saved(Reference, Unit)
    }

    public enum Unit: String, Sendable, Hashable, CaseIterable {
        case microseconds = "us"
        case connectionEvents = "connection events"
        case advertisingEvents = "advertising events"

        func length(_ count: Int) -> Length {
            switch self {
            case .microseconds: .time(Microseconds(Int64(count)))
            case .connectionEvents: .connectionEvents(count)
            case .advertisingEvents: .advertisingEvents(count)
            }
        }
    }
}

extension Window.Length {
    /// Returns the length with the value of a saved number.
    package func resolved(_ variables: Variables) throws(BadReference) -> Window.Length {
        guard case .saved(let reference, let unit) = self else { return self }
        let value = try variables.resolve(.reference(reference))
        guard let count = value.asNumber, (0...Int(Limits.longest.rawValue)).contains(count) else {
            throw BadReference(text: "\(reference) is \(value), not a span of at most \(Limits.longest.text)")
        }
        return unit.length(count)
    }
}

/// A value measured over the packets of a period.
public struct Measurement: Sendable, Hashable {
    public var metric: Metric
    /// The name of the counted packets.
    public var name: String
    public var fields: [FieldPredicate]
    public var during: Window.Length
    public var result: Predicate

    public enum Metric: String, Sendable, Hashable, CaseIterable {
        /// The number of packets.
        case count
        /// The mean, median, shortest and longest time between consecutive packets in microseconds.
        case meanPeriod = "mean-period"
        case medianPeriod = "median-period"
        case shortestPeriod = "shortest-period"
        case longestPeriod = "longest-period"
        /// The number of these times that are shorter than twice the one before.
        case undoubledPeriods = "undoubled-periods"
        /// The time from the first packet to the last in microseconds.
        case span
        /// The time from the start of the step to the first packet in microseconds.
        case delay

        public var isTime: Bool { self != .count && self != .undoubledPeriods }
    }
}

/// An operation on the simulated air, or an observation of it.
public struct AirStep: Sendable, Hashable {
    public var operation: Operation
    /// The name of the link layer PDU.
    public var name: String
    public var fields: [Operand.Entry]
    public var predicates: [FieldPredicate]
    public var window: Window?
    public var since: String?
    /// The number of PDUs that a rule affects; nil for all.
    public var times: Int?
    /// True if an injected PDU is not encrypted on an encrypted link.
    public var isInClear = false

    public enum Operation: Sendable, Hashable {
        /// Waits for the PDU, sent by the step's side.
        case expect
        /// The step's side must not send the PDU.
        case expectNone
        /// Suppresses the PDU of the step's side.
        case suppress
        /// Changes fields of the PDU that the step's side sends.
        case alter
        /// Sends this PDU as the step's side.
        case inject
    }
}

/// A use of a procedure.
public struct Use: Sendable, Hashable {
    public var name: String
    public var arguments: [Operand.Entry]
    /// True if the step specifies the side in the procedure's first role.
    public var isDirected: Bool
}

/// Steps shared by several cases.
public struct Procedure: Sendable {
    public var name: String
    public var position: Position
    public var about: String
    /// The roles, with their default sides. The other side takes the second role.
    public var roles: [Role]
    public var parameters: [Parameter]
    public var steps: [Step]
    /// The values in the procedure's result.
    public var gives: [Operand.Entry]
    /// True if the procedure uses known facts about a device over the air.
    package var mentionsDevice = false

    public struct Role: Sendable, Hashable {
        public var name: String
        public var usual: Side
    }

    /// Returns the side in each role if `first`, or the default side, takes the first role.
    public func cast(_ first: Side?) -> [String: Side] {
        let side = first ?? roles.first?.usual ?? .tester
        var cast: [String: Side] = [:]
        for (index, role) in roles.enumerated() { cast[role.name] = index == 0 ? side : side.other }
        return cast
    }
}

extension Side {
    public var other: Side { self == .tester ? .subject : .tester }
}

extension Step {
    /// Returns the step, including the steps inside it, with roles replaced by sides.
    public func with(_ cast: [String: Side]) -> Step {
        guard !cast.isEmpty else { return self }
        var step = self
        if let side = role.flatMap({ cast[$0] }) { step.side = side }
        switch kind {
        case .repeated(let times, let counter, let steps):
            step.kind = .repeated(times: times, counter: counter, steps.map { $0.with(cast) })
        case .each(let list, let name, let steps): step.kind = .each(list, called: name, steps.map { $0.with(cast) })
        case .attempts(let most, let steps, let between):
            step.kind = .attempts(most, steps.map { $0.with(cast) }, between: between.map { $0.with(cast) })
        case .until(let awaited, let atMost, let steps): step.kind = .until(awaited, atMost: atMost, steps.map { $0.with(cast) })
        case .parallel(let branches): step.kind = .parallel(branches.map { $0.map { $0.with(cast) } })
        case .either(let branches): step.kind = .either(branches.map { $0.map { $0.with(cast) } })
        case .send, .action, .expect, .expectNone, .measure, .air, .check, .wait, .mark, .procedure: break
        }
        return step
    }
}
