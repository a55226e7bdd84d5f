import BBCases
import BBPackets

/// The steps of a case that have run, with times and outcomes. The steps of a procedure are part of the step that uses it.
struct StepLog {
    private(set) var steps: [StepRecord] = []
    private var places: [Position: Int] = [:]

    /// The maximum number of reported steps.
    private static let most = 400

    init(_ testCase: TestCase) {
        add(testCase.setup, .setup, depth: 0)
        add(testCase.steps, .steps, depth: 0)
        add(testCase.teardown, .teardown, depth: 0)
    }

    private mutating func add(_ list: [Step], _ part: StepRecord.Part, depth: Int) {
        for step in list where steps.count < Self.most {
            places[step.position] = steps.count
            steps.append(
                StepRecord(part: part, depth: depth, position: step.position.description, step: step.words, requirement: step.states))
            add(step.inner, part, depth: depth + 1)
        }
    }

    mutating func skipped(_ step: Step) {
        if let place = places[step.position], steps[place].times == 0 { steps[place].outcome = .skipped }
    }

    mutating func began(_ step: Step, at time: Microseconds) {
        guard let place = places[step.position] else { return }
        steps[place].times += 1
        (steps[place].beganMilliseconds, steps[place].endedMilliseconds) = (time.milliseconds, nil)
    }

    mutating func ended(_ step: Step, _ outcome: StepRecord.Outcome, at time: Microseconds) {
        guard let place = places[step.position] else { return }
        steps[place].outcome = outcome
        steps[place].endedMilliseconds = time.milliseconds
    }
}
