import Packets

/// Who acts or observes.
public enum Side: String, Sendable, Hashable, CaseIterable {
    case tester
    case subject
}

/// One step of a case.
public struct Step: Sendable, Hashable {
    public var position: Position
    public var side: Side
    /// Of a procedure's step: the role that acts, from which the side follows when the procedure is used.
    public var role: String?
    public var kind: Kind
    /// A name that `since:` can refer to.
    public var label: String?
    /// The requirement that the step checks, as a sentence. A failure here is the verdict FAIL for that requirement.
    public var states: String?
    /// The name under which the result is kept.
    public var saveAs: String?
    /// The step is skipped unless this holds.
    public var condition: Requirement?
    /// Instead of the case's limit for steps.
    public var limit: Microseconds?
    /// What the case's verdict is when the step fails, where the specification allows what came instead.
    public var otherwise: Otherwise?

    public enum Otherwise: String, Sendable, Hashable, CaseIterable {
        /// Nothing can be said about the subject.
        case inconclusive
        /// An end does not have, or does not want, what the case is about.
        case notApplicable = "not applicable"
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
        /// Nothing but a place that `since:` can refer to.
        case mark
        case repeated(times: Operand, counter: String?, [Step])
        /// Steps for each element of a list, which goes by the name meanwhile.
        case each(Operand, called: String, [Step])
        /// Steps that may fail and are then run again, as often as it says in all.
        case attempts(Int, [Step], between: [Step])
        case parallel([[Step]])
        case either([[Step]])
        case until(Expectation, atMost: Int, [Step])
        case procedure(Use)
    }
}

extension Step {
    /// Elements of a list that steps are run for at most.
    package static let mostElements = 64
}

/// A PDU to send by its specification name: an HCI command, or an ATT, SMP or L2CAP signalling PDU on a connection.
public struct Command: Sendable, Hashable {
    public var name: String
    public var fields: [Operand.Entry]
    /// Sent instead of encoded fields, for what the declaration cannot say.
    public var raw: Operand?
    /// Appended after the fields.
    public var trailing: Operand?
    /// The connection, for PDUs above HCI.
    public var connection: Operand?
    public var answer: Answer

    /// What the controller must reply to a command.
    public enum Answer: Sendable, Hashable {
        /// Status 0 in Command Complete or Command Status.
        case success
        case fields([FieldPredicate])
        /// Not waited for.
        case ignored
    }
}

/// A named action of the bench's own host.
public struct Action: Sendable, Hashable {
    public var name: String
    public var arguments: [Operand.Entry]
    /// Predicates on the result; for an action expected to be refused, on its `error`.
    public var result: [FieldPredicate]
}

/// An event or PDU to come, and when.
public struct Expectation: Sendable, Hashable {
    public var name: String
    public var fields: [FieldPredicate]
    public var window: Window?
    /// The step since whose start packets count; by default the last step that acted.
    public var since: String?
    /// No other event of the same name may come before it.
    public var isStrict: Bool
}

extension Expectation {
    /// The name under which the element of a list that satisfied `some` is kept with the packet.
    package static let match = "match"

    /// The list of which some element must be as the expectation says.
    package var listSearched: (name: String, element: Predicate)? {
        for field in fields { if case .anyElement(let element) = field.predicate { return (field.name, element) } }
        return nil
    }
}

/// When something must happen, counted from the start of the step.
public struct Window: Sendable, Hashable {
    public var notBefore: Length?
    public var within: Length?

    public enum Length: Sendable, Hashable {
        case time(Microseconds)
        /// Intervals of the connection as it is when the step starts.
        case connectionEvents(Int)
        /// Advertising intervals as last set on either end.
        case advertisingEvents(Int)
    }
}

/// A figure taken from the packets of a span of time.
public struct Measurement: Sendable, Hashable {
    public var metric: Metric
    /// The packets counted.
    public var name: String
    public var fields: [FieldPredicate]
    public var during: Window.Length
    public var result: Predicate

    public enum Metric: String, Sendable, Hashable, CaseIterable {
        /// How many packets came.
        case count
        /// Mean, median, shortest and longest microseconds between one and the next.
        case meanPeriod = "mean-period"
        case medianPeriod = "median-period"
        case shortestPeriod = "shortest-period"
        case longestPeriod = "longest-period"
        /// Microseconds from the first to the last.
        case span
        /// Microseconds from the start of the step to the first.
        case delay
    }
}

/// Something done to, or seen on, the simulated air.
public struct AirStep: Sendable, Hashable {
    public var operation: Operation
    /// The link layer PDU.
    public var name: String
    public var fields: [Operand.Entry]
    public var predicates: [FieldPredicate]
    public var window: Window?
    public var since: String?
    /// How many PDUs a rule acts on; all of them if nil.
    public var times: Int?
    /// What is injected on an encrypted link is not encrypted.
    public var isInClear = false

    public enum Operation: Sendable, Hashable {
        /// Wait for the PDU, sent by the step's side.
        case expect
        /// The PDU must not be sent by the step's side.
        case expectNone
        /// The step's side does not send the PDU.
        case suppress
        /// The step's side sends the PDU with these fields instead of its own.
        case alter
        /// The step's side sends this PDU of the case's making.
        case inject
    }
}

/// A procedure file to run here.
public struct Use: Sendable, Hashable {
    public var name: String
    public var arguments: [Operand.Entry]
    /// The step says who takes the procedure's first role.
    public var isDirected: Bool
}

/// Steps that several cases begin with.
public struct Procedure: Sendable {
    public var name: String
    public var position: Position
    public var about: String
    /// Who takes part, and who it is unless the step says so. The other side takes the second role.
    public var roles: [Role]
    public var parameters: [Parameter]
    public var steps: [Step]
    /// What the procedure's `saveAs` holds.
    public var gives: [Operand.Entry]
    /// It is about what is known of a device over the air.
    package var mentionsDevice = false

    public struct Role: Sendable, Hashable {
        public var name: String
        public var usual: Side
    }

    /// Who takes each role when `first`, or who it usually is, takes the first.
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
    /// The step, and those inside it, with the roles taken by sides.
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
