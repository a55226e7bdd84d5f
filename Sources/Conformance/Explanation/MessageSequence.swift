import BBCases

/// A case as a message sequence chart: the messages between the participants, with the case's values.
public struct MessageSequence: Sendable {
    /// The participants from left to right.
    enum Lane: Int, CaseIterable {
        case testerHost, testerController, subjectController, subjectHost

        static func host(_ side: Side) -> Lane { side == .tester ? .testerHost : .subjectHost }
        static func controller(_ side: Side) -> Lane { side == .tester ? .testerController : .subjectController }

        var name: (side: String, part: String) {
            switch self {
            case .testerHost: ("tester", "host")
            case .testerController: ("tester", "controller")
            case .subjectController: ("subject", "controller")
            case .subjectHost: ("subject", "host")
            }
        }
    }

    enum Row {
        case message(Lane, Lane, String)
        case note(Lane, String)
        /// The requirement that the row before checks.
        case states(String)
        case begin(String, kind: Block)
        case branch(Block)
        case end
    }

    /// The keyword of a block in UML and Mermaid.
    enum Block: String {
        case loop, alt, par
        /// The keyword between the branches of a block.
        var branch: String { self == .par ? "and" : "else" }
    }

    private let title: String
    private(set) var rows: [Row] = []

    public init(_ testCase: TestCase) {
        title = "\(testCase.id): \(testCase.title)"
        for (name, steps) in [("setup", testCase.setup), ("", testCase.steps), ("teardown", testCase.teardown)] where !steps.isEmpty {
            if !name.isEmpty { rows.append(.note(.testerHost, name)) }
            add(steps)
        }
    }

    private mutating func add(_ steps: [Step]) {
        for step in steps {
            if let condition = step.condition { rows.append(.note(.host(step.side), "if \(condition):")) }
            add(step)
            if let states = step.states { rows.append(.states(states)) }
        }
    }

    private mutating func add(_ step: Step) {
        let (host, controller) = (Lane.host(step.side), Lane.controller(step.side))
        switch step.kind {
        case .send(let command): send(command, from: step.side)
        case .action(let action):
            rows.append(.note(host, Self.words(action.name, Self.values(action.arguments))))
            if !action.result.isEmpty { rows.append(.note(host, Self.words("gives", action.result.words(of: action.name)))) }
        case .expect(let expectation): rows.append(.message(Self.origin(of: expectation.name, step.side), host, Self.words(expectation)))
        case .expectNone(let expectation): rows.append(.note(host, "no " + Self.words(expectation)))
        case .measure(let measurement):
            let span = "\(measurement.metric.rawValue) of \(measurement.name) during \(measurement.during.text)"
            rows.append(.note(host, "\(span): \(measurement.result.text(Variables()))"))
        case .air(let air): add(air, controller, Lane.controller(step.side.other))
        case .check(let operand, let predicate): rows.append(.note(host, "\(operand.text) \(predicate.text(Variables()))"))
        case .wait(let length): rows.append(.note(host, "wait \(length.text)"))
        case .mark: break
        case .procedure(let use): rows.append(.note(host, Self.words("use \(use.name)", Self.values(use.arguments))))
        case .repeated(let times, _, let steps): block(.loop, "\(times.text) times", [steps])
        case .each(let list, let name, let steps): block(.loop, "each \(name) of \(list.text)", [steps])
        case .attempts(let most, let steps, let between): block(.loop, "at most \(most) attempts", [steps + between])
        case .until(let awaited, let most, let steps): block(.loop, "at most \(most) times, until \(Self.words(awaited))", [steps])
        case .parallel(let branches): block(.par, "", branches)
        case .either(let branches): block(.alt, "", branches)
        }
    }

    private mutating func block(_ kind: Block, _ text: String, _ branches: [[Step]]) {
        for (index, steps) in branches.enumerated() {
            rows.append(index == 0 ? .begin(text, kind: kind) : .branch(kind))
            add(steps)
        }
        rows.append(.end)
    }

    private mutating func send(_ command: Command, from side: Side) {
        var values = Self.values(command.fields)
        if let raw = command.raw { values.append("octets \(raw.text)") }
        if let trailing = command.trailing { values.append("and after it \(trailing.text)") }
        let isAboveHCI = Self.isAboveHCI(command.name)
        rows.append(.message(.host(side), isAboveHCI ? .host(side.other) : .controller(side), Self.words(command.name, values)))
        switch command.answer {
        case .fields(let fields):
            rows.append(.message(.controller(side), .host(side), Self.words("its answer", fields.words(of: command.name))))
        case .success where !isAboveHCI: rows.append(.message(.controller(side), .host(side), "its answer  Status Success"))
        case .success, .ignored: break
        }
    }

    private mutating func add(_ air: AirStep, _ own: Lane, _ other: Lane) {
        let values = Self.values(air.fields) + air.predicates.words(of: air.name)
        switch air.operation {
        case .expect: rows.append(.message(own, other, Self.words(air.name, values)))
        case .expectNone: rows.append(.note(own, Self.words("no \(air.name)", values)))
        case .suppress: rows.append(.note(own, Self.words("keeps back \(air.name)", values)))
        case .alter: rows.append(.message(own, other, Self.words("\(air.name), altered", values)))
        case .inject: rows.append(.message(own, other, Self.words("\(air.name), injected", values)))
        }
    }

    // MARK: Text

    /// Returns true for PDUs above HCI, which come from the other host.
    private static func isAboveHCI(_ name: String) -> Bool { ["ATT_", "SMP_", "L2CAP_"].contains { name.hasPrefix($0) } }

    private static func origin(of name: String, _ side: Side) -> Lane { isAboveHCI(name) ? .host(side.other) : .controller(side) }

    private static func values(_ entries: [Operand.Entry]) -> [String] { entries.map { "\($0.name) \($0.value.text)" } }

    private static func words(_ name: String, _ values: [String]) -> String {
        values.isEmpty ? name : name + "  " + values.joined(separator: ", ")
    }

    private static func words(_ expectation: Expectation) -> String {
        var values = expectation.fields.words(of: expectation.name)
        if let least = expectation.window?.notBefore { values.append("not before \(least.text)") }
        if let most = expectation.window?.within { values.append("within \(most.text)") }
        return words(expectation.name, values)
    }
}

extension MessageSequence {
    private static let column = 16

    /// The chart as text.
    public var text: String {
        var lines = [title, "", Self.lanes { $0.name.side.padding(to: Self.column) }, Self.lanes { $0.name.part.padding(to: Self.column) }]
        var depth = 0
        for row in rows {
            if case .end = row { depth -= 1 }
            if case .branch = row { depth -= 1 }
            lines.append(Self.line(row, indent: String(repeating: "  ", count: max(0, depth))))
            switch row {
            case .begin, .branch: depth += 1
            case .message, .note, .states, .end: break
            }
        }
        return lines.map { String($0.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n")
    }

    private static func lanes(_ cell: (Lane) -> String) -> String { Lane.allCases.map(cell).joined() }

    private static func line(_ row: Row, indent: String) -> String {
        let empty = lanes { _ in "|".padding(to: column) }
        switch row {
        case .message(let from, let to, let text): return arrow(from, to) + indent + text
        case .note(let lane, let text): return lanes { ($0 == lane ? "*" : "|").padding(to: column) } + indent + text
        case .states(let text): return empty + indent + "=> " + text
        case .begin(let text, let kind): return empty + indent + ([kind.rawValue, text].filter { !$0.isEmpty }).joined(separator: " ")
        case .branch(let kind): return empty + indent + kind.branch
        case .end: return empty + indent + "end"
        }
    }

    private static func arrow(_ from: Lane, _ to: Lane) -> String {
        let (left, right) = (min(from.rawValue, to.rawValue), max(from.rawValue, to.rawValue))
        let shaft = String(repeating: "-", count: (right - left) * column - 2)
        let arrow = "|" + (from.rawValue < to.rawValue ? shaft + ">" : "<" + shaft)
        let before = String(repeating: "|".padding(to: column), count: left)
        let after = (right..<Lane.allCases.count).map { _ in "|".padding(to: column) }.joined()
        return before + arrow + after
    }

    /// The chart in Mermaid, which GitHub, GitLab and many wikis display.
    public var mermaid: String {
        var lines = ["sequenceDiagram", "    title \(Self.plain(title))"]
        for lane in Lane.allCases { lines.append("    participant \(lane) as \(lane.name.side)<br/>\(lane.name.part)") }
        for row in rows {
            switch row {
            case .message(let from, let to, let text): lines.append("    \(from)->>\(to): \(Self.plain(text))")
            case .note(let lane, let text): lines.append("    Note over \(lane): \(Self.plain(text))")
            case .states(let text): lines.append("    Note over testerHost,subjectHost: \(Self.plain(text))")
            case .begin(let text, let kind): lines.append("    \(kind.rawValue) \(Self.plain(text))")
            case .branch(let kind): lines.append("    \(kind.branch)")
            case .end: lines.append("    end")
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Replaces the special characters of Mermaid with entities.
    private static func plain(_ text: String) -> String {
        text.map { character in
            switch character {
            case "#": "#35;"
            case ";": "#59;"
            case "<": "#lt;"
            case ">": "#gt;"
            case "\n": " "
            default: String(character)
            }
        }.joined()
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }
}
