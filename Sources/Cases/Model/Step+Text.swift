import BBPackets

extension Step {
    /// Returns the step's requirement followed by the text of the failure.
    package func stating(_ text: String) -> String { states.map { "\($0) \(text.prefix(1).uppercased() + text.dropFirst())." } ?? text }

    /// A short description of the step.
    package var summary: String {
        switch kind {
        case .send(let command): "\(side.rawValue) sends \(command.name)"
        case .action(let action): "\(side.rawValue): \(action.name)"
        case .expect(let expectation): "\(side.rawValue) expects \(expectation.name)"
        case .expectNone(let expectation): "\(side.rawValue) expects no \(expectation.name)"
        case .measure(let measurement): "\(side.rawValue) measures \(measurement.metric.rawValue) of \(measurement.name)"
        case .air(let air): air.summary(side)
        case .check: "check"
        case .wait: "wait"
        case .mark: "mark"
        case .repeated: "repeat"
        case .each(_, let name, _): "each \(name)"
        case .attempts: "attempts"
        case .parallel: "parallel"
        case .either: "either"
        case .until(let expectation, _, _): "until \(expectation.name)"
        case .procedure(let use): "use \(use.name)"
        }
    }
}

extension AirStep {
    package func summary(_ side: Side) -> String {
        switch operation {
        case .expect: "\(name) from the \(side.rawValue) on the air"
        case .expectNone: "no \(name) from the \(side.rawValue) on the air"
        case .suppress: "the \(side.rawValue)'s \(name) is suppressed"
        case .alter: "the \(side.rawValue)'s \(name) is altered"
        case .inject: "\(name) is injected at the \(side.rawValue)"
        }
    }
}

extension Step {
    /// The description of the step with its conditions on fields.
    package var words: String {
        switch kind {
        case .expect(let expectation) where !expectation.fields.isEmpty:
            summary + " with " + expectation.fields.words(of: expectation.name).joined(separator: ", ")
        case .check(let operand, let predicate): "check that \(operand.text) is \(predicate.text(Variables()))"
        case .wait(let length): "wait \(length.text)"
        default: summary
        }
    }
}

extension Window.Length {
    /// The condition in the syntax of case files.
    package var text: String {
        switch self {
        case .time(let time): time.text
        case .connectionEvents(let count): "\(count) connection events"
        case .advertisingEvents(let count): "\(count) advertising events"
        case .saved(let reference, .microseconds): reference.description
        case .saved(let reference, let unit): "\(reference) \(unit.rawValue)"
        }
    }
}

extension Microseconds {
    /// The time in its most common unit.
    package var text: String {
        if rawValue % 1_000_000 == 0 { return "\(rawValue / 1_000_000) s" }
        if rawValue % 1_000 == 0 { return "\(rawValue / 1_000) ms" }
        // Only measured times are that long and that odd.
        if rawValue >= 10_000_000 { return "\((Double(rawValue) / 100_000).rounded() / 10) s" }
        return rawValue < 10_000 ? "\(rawValue) us" : "\((Double(rawValue) / 1_000)) ms"
    }
}
