import BBCases
import BBPackets
import BBProducts
import BBTiming

/// The approximate duration of the cases for a device over the air without failures: their own waits and the time of each connection.
struct RunLength {
    let catalogue: Catalogue
    let device: DeviceFacts
    /// The time until the device advertises, is connected and answers.
    let connection: Microseconds
    /// The time to reset and probe the tester between cases.
    static let overhead = Microseconds.milliseconds(150)
    /// The time of a few events, of measuring the interval, and of reading meanwhile.
    private static let timing = Microseconds.seconds(4)
    /// A guess of the time until a device that was switched off and on advertises.
    private static let powerCycle = Microseconds.seconds(5)

    func length(of testCase: TestCase) -> Microseconds {
        var variables = Variables()
        variables[Vocabulary.DeviceShape.name] = .record(device.record)
        for parameter in testCase.parameters { variables[parameter.name] = parameter.initial }
        var known: [String: Microseconds] = [:]
        return Self.overhead + length(of: testCase.setup + testCase.steps + testCase.teardown, variables, &known)
    }

    /// Duration of steps, estimated from their waits and windows.
    ///
    /// - Parameter known: the durations of procedures that have already been calculated.
    private func length(of steps: [Step], _ variables: Variables, _ known: inout [String: Microseconds]) -> Microseconds {
        var sum = Microseconds.zero
        for step in steps where isRun(step) { sum = sum + length(of: step, variables, &known) }
        return sum
    }

    /// False for a step that the device does not concern. The tester's features are known only when a case runs; most testers have them.
    private func isRun(_ step: Step) -> Bool {
        guard let condition = step.condition else { return true }
        return condition.holds(in: device.features.union(condition.names.filter { $0.hasPrefix("tester.") }))
    }

    private func length(of step: Step, _ variables: Variables, _ known: inout [String: Microseconds]) -> Microseconds {
        switch step.kind {
        case .wait(let length): time(length, variables)
        case .expectNone(let expectation): expectation.window?.within.map { time($0, variables) } ?? .zero
        case .measure(let measurement): time(measurement.during, variables)
        case .action(let action): length(of: action, variables)
        case .repeated(let times, _, let inner):
            length(of: inner, variables, &known) * ((try? variables.resolve(times))?.asNumber ?? 1)
        case .each(let list, _, let inner):
            length(of: inner, variables, &known)
                * min((try? variables.resolve(list))?.count ?? 0, Step.mostElements)
        case .attempts(_, let inner, _): length(of: inner, variables, &known)
        case .parallel(let branches):
            branches.map { length(of: $0, variables, &known) }.max() ?? .zero
        case .procedure(let use):
            length(of: use, variables, &known)
        case .send, .expect, .air, .check, .mark, .either, .until: .zero
        }
    }

    private func length(of use: Use, _ variables: Variables, _ known: inout [String: Microseconds]) -> Microseconds {
        if let length = known[use.name] { return length }
        // A procedure that uses itself is reported elsewhere.
        known[use.name] = .zero
        let length = length(of: catalogue.procedures[use.name]?.steps ?? [], variables, &known)
        known[use.name] = length
        return length
    }

    private func length(of action: Action, _ variables: Variables) -> Microseconds {
        switch action.name {
        case MeetDevice.name, Connect.name: return connection
        case ListenToDevice.name:
            let seconds = action.arguments.first { $0.name == ListenToDevice.limit.declaration.name }
            return connection
                + .seconds(seconds.flatMap { (try? variables.resolve($0.value))?.asNumber } ?? 1)
        case TimeAdvertising.name: return connection + Self.timing
        case PowerCycleDevice.name: return Self.powerCycle
        case WatchFastAdvertising.name: return .seconds(30)
        default: return .zero
        }
    }

    private func time(_ length: Window.Length, _ variables: Variables) -> Microseconds {
        switch (try? length.resolved(variables)) ?? .time(.zero) {
        case .time(let time): time
        case .saved: .zero
        case .connectionEvents(let count), .advertisingEvents(let count): .milliseconds(15 * count)
        }
    }
}

extension Runner {
    /// Returns the approximate durations of the cases that are still to be run for the device over the air, by id; nil in virtual time.
    public func expectedLengths() -> [String: Microseconds]? { factory.isVirtual ? nil : lengths() }

    /// The same, in virtual time, too; nil if no device was surveyed.
    func lengths() -> [String: Microseconds]? {
        guard case .success(let description)? = survey, let device = factory.device else { return nil }
        let connection = (description.link.readvertises ?? .milliseconds(500)) + .milliseconds(400)
        let reckoner = RunLength(catalogue: plan.catalogue, device: device, connection: connection)
        let cases = plan.cases.filter { testCase in
            guard testCase.subject == .accessory, testCase.needsDevice(plan.catalogue), plan.known[testCase.id] == nil else {
                return false
            }
            guard description.reason(toLeaveOut: testCase.id) == nil else { return false }
            if let rule = testCase.rule, plan.catalogue.rule(rule, of: plan.setup.profile) == nil {
                return false
            }
            guard let needs = testCase.needs else { return true }
            // The tester's features are known only when a case runs; most testers have them.
            return needs.holds(in: device.features.union(needs.names.filter { $0.hasPrefix("tester.") }))
        }
        return Dictionary(cases.map { ($0.id, reckoner.length(of: $0)) }) { first, _ in first }
    }
}
