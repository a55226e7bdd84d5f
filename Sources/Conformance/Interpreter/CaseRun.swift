import BBCases
import BBPackets
import BBTiming
import BBTransport

/// The execution of a case: runs steps, collects evidence and determines the verdict.
final class CaseRun {
    let loop: RunLoop

    let testCase: TestCase
    let catalogue: Catalogue
    let bench: CaseBench
    var log: ObservationLog { bench.log }
    private(set) var features: Set<String> = []
    var evidence: [Evidence] = []
    var notes: [String] = []
    /// The claimed commands that the subject has refused at a step that needs them.
    var refusedCommands: [CommandConduct.Refusal] = []
    /// The positions of named steps in the log.
    var marks: [String: Int] = ["start": 0]
    /// The last command sent on each side.
    var lastCommands: [Side: SentCommand] = [:]
    /// The connections of the last PDUs sent.
    var lastConnections: [Side: Int] = [:]
    /// The number of steps that have started.
    private var stepCount = 0
    /// The longest time by which a wait was over too late; 0 in virtual time.
    var lateness = Microseconds.zero
    var ledger: StepLog
    private let bounds: RunBounds
    private let isStopped: () -> Bool
    /// The deadline of the case.
    var caseDeadline: Microseconds = .never
    private let onStep: (Step) -> Void
    /// Called once with the failure that ends the case; the flag is true for a fault of the subject.
    private let onFailure: (String, Bool) -> Void

    /// The scope of a step: its variables, the last actions, and its part of the case.
    struct Scope {
        /// The values saved by steps; shared by the branches of `parallel`.
        final class Frame {
            var variables = Variables()
            /// The packets from which the saved values came.
            var places: [String: String] = [:]
            /// The fields from which values were saved.
            var sources: [String: ValueSource] = [:]
        }

        var frame = Frame()
        /// The position before which observations are too old.
        var searchStart = 0
        /// The reference of the next step's windows.
        var reference = TimeReference(.zero)
        var isSetup = false
        /// True during the teardown, which is not judged.
        var isTeardown = false
        /// True if other branches run at the same time.
        var isBeside = false
        /// The step in a case file that uses the procedure.
        var caller: Step?
    }

    /// - Parameter isStopped: returns true if the run is to end.
    init(
        _ testCase: TestCase, catalogue: Catalogue, bench: CaseBench, bounds: RunBounds = RunBounds(),
        isStopped: @escaping () -> Bool = { false }, onStep: @escaping (Step) -> Void,
        onFailure: @escaping (String, Bool) -> Void = { _, _ in }
    ) {
        self.bounds = bounds
        self.isStopped = isStopped
        self.testCase = testCase
        self.catalogue = catalogue
        self.bench = bench
        self.onStep = onStep
        self.onFailure = onFailure
        loop = bench.loop
        ledger = StepLog(testCase)
    }

    /// Runs the whole case.
    func run(parameters: [String: CaseValue]) async -> CaseResult {
        var result = CaseResult(id: testCase.id, title: testCase.title, verdict: .pass)
        result.covers = testCase.covers.filter(\.isFull).map(\.id)
        result.partialCovers = testCase.covers.filter { !$0.isFull }.map(\.id)
        log.limit(bounds)
        do {
            try await bench.prepare()
            features = bench.features.union(bench.product.facts?.features ?? []).union(declaredWords)
            if let needs = testCase.needs, !needs.holds(in: features) {
                (result.verdict, result.lacks) = (.notApplicable, needs.unmet(in: features))
                result.message = "needs " + result.lacks.joined(separator: ", ")
            } else {
                try await runAll(parameters)
            }
        } catch let failure as StepFailure {
            note(excused(failure.step == nil ? conduct(at: testCase.steps.first, instead: failure) ?? failure : failure), in: &result)
        } catch let error as TransportError {
            result.verdict = .inconclusive
            result.message = error.description
        } catch is CancellationError {
            result.verdict = .inconclusive
            result.message = "the run was stopped"
        } catch {
            result.verdict = .error
            result.message = "\(error)"
        }
        result.evidence = Array((result.evidence + evidence).withoutRepetitions.prefix(24))
        notes += bench.remarks
        if let conduct = bench.end(.tester)?.violation { notes.append(conduct.text) }
        if let impediment = bench.end(.tester)?.reliability.impediment(isClaimed: { feature("tester.\($0)") }) {
            notes.append("the tester's dongle: \(impediment.text) (packet \(impediment.packet))")
        }
        result.notes = notes
        result.steps = ledger.steps
        result.trace = log.trail?.trace
        result.conduct = commandConduct()
        await bench.finish()
        result.worstSchedulingDelayMilliseconds = loop.mode == .wall ? bench.schedulingDelay.worst.milliseconds : nil
        result.evidence += Side.allCases.flatMap(account)
        return result
    }

    private func runAll(_ parameters: [String: CaseValue]) async throws {
        caseDeadline = loop.now + testCase.limits.run
        if log.trail != nil { log.trail = PacketTrail() }
        var scope = Scope(searchStart: log.end, reference: TimeReference(loop.now))
        for parameter in testCase.parameters { scope.frame.variables[parameter.name] = parameters[parameter.name] ?? parameter.initial }
        for (side, address) in bench.addresses { scope.frame.variables[side.rawValue] = address }
        if let device = bench.product.facts { scope.frame.variables[Vocabulary.DeviceShape.name] = .record(device.record) }
        if let rule = bench.rules.judged { scope.frame.variables[AccessoryProfile.ruleVariable] = .record(rule.values) }
        var failure: (any Error)?
        do {
            scope.isSetup = true
            try await run(testCase.setup, &scope)
            scope.isSetup = false
            marks["start"] = log.end
            try await run(testCase.steps, &scope)
        } catch {
            failure = error
            tell(of: error)
        }
        caseDeadline = loop.now + testCase.limits.run
        do {
            var last = scope
            last.reference = TimeReference(loop.now)
            last.isTeardown = true
            try await run(testCase.teardown, &last)
        } catch {
            notes.append("teardown: \((error as? StepFailure)?.message ?? "\(error)")")
            if failure == nil {
                failure = StepFailure(.environment, "the teardown failed: \((error as? StepFailure)?.message ?? "\(error)")")
            }
        }
        if let failure { throw failure }
        if let last = testCase.steps.last ?? testCase.setup.last {
            try judgeConduct(at: last, scope)
        }
    }

    /// The words about the conformance statement that hold in conditions of the case.
    private var declaredWords: Set<String> {
        guard let declared = bench.declared else { return [] }
        let conditions = [testCase.needs] + testCase.castSteps(catalogue).map(\.condition)
        return declared.words(among: conditions.compactMap(\.?.names).joined())
    }

    private func tell(of error: any Error) {
        guard let failure = error as? StepFailure else {
            return onFailure(error is CancellationError ? ": the run was stopped" : ": \(error)", false)
        }
        let place = failure.step.map { " at \($0.position)" } ?? ""
        onFailure("\(place): \(failure.message)", failure.blame == .subject)
    }

    /// Describes data that arrived out of order on a side and was reordered or dropped.
    private func account(_ side: Side) -> [Evidence] {
        guard let end = bench.end(side) else { return [] }
        let count = end.strayData
        let stray = count == 0 ? nil : "threw away \(count) packet\(count == 1 ? "" : "s") of connections that no event had told of"
        let credits = end.strayCredits == 0 ? nil : "was given \(end.strayCredits) credits for packets that it had not sent"
        let masked = end.maskedReports == 0 ? nil : "advertising reports had reserved bits set: masked in \(end.maskedReports)"
        return [end.takeReordering().text, stray, credits, masked].compactMap {
            $0.map { Evidence(packet: 0, side: side.rawValue, text: $0) }
        }
    }

    private func note(_ failure: StepFailure, in result: inout CaseResult) {
        switch failure.blame {
        case .subject: result.verdict = .fail
        case .precondition, .environment: result.verdict = .inconclusive
        case .limitation: result.verdict = .notApplicable
        case .bench: result.verdict = .error
        }
        let cited = bench.rules.judged.map { [$0.citation] } ?? bench.rules.supported.map(\.shortCitation)
        let declined = failure.blame == .subject ? bench.memory.declinedPairing.map { "; before that, \($0)" } ?? "" : ""
        result.message =
            failure.message + declined + (failure.blame == .subject && !cited.isEmpty ? " [\(cited.joined(separator: "; "))]" : "")
        result.evidence = failure.evidence
        result.overlooked = failure.overlooked
        result.lostLink = failure.lostLink
        // A case that goes on without a device, such as a second client, is not applicable.
        result.missedDevice = failure.isOfMissingDevice && ![.subject, .limitation].contains(failure.blame)
        if let step = failure.step {
            result.failedStep = FailedStep(
                position: step.position.description, step: step.summary, requirement: step.states, diff: failure.diff)
        }
    }

    // MARK: Steps

    func run(_ steps: [Step], _ scope: inout Scope) async throws {
        for step in steps {
            if let condition = step.condition, !condition.holds(in: features) {
                ledger.skipped(step)
                continue
            }
            if loop.now >= caseDeadline { throw blamed(StepFailure(.environment, "the case did not end within its limit"), step, scope) }
            if isStopped() { throw CancellationError() }
            bench.tools.readLog()
            stepCount += 1
            if stepCount > bounds.steps {
                throw blamed(StepFailure(.environment, "the case went on for \(bounds.steps) steps, which is the limit"), step, scope)
            }
            if let overrun = log.overrun() { throw blamed(overrun, step, scope) }
            try judgeConduct(at: step, scope)
            onStep(step)
            if let label = step.label { marks[label] = log.end }
            ledger.began(step, at: loop.now)
            do {
                try await run(step, &scope)
                ledger.ended(step, .done, at: loop.now)
            } catch let failure as StepFailure {
                ledger.ended(step, .stopped, at: loop.now)
                if let reason = log.broken { throw (reason as? StepFailure).map { blamed($0, step, scope) } ?? reason }
                try judgeConduct(at: step, scope, instead: failure)
                throw blamed(failure, step, scope)
            } catch let reference as BadReference {
                throw blamed(StepFailure(.precondition, reference.text), step, scope)
            }
        }
    }

    /// Adds the step to a failure; during the setup no failure is attributed to the subject.
    private func blamed(_ failure: StepFailure, _ step: Step, _ scope: Scope) -> StepFailure {
        var failure = failure
        if let otherwise = step.otherwise, failure.blame == .subject || failure.blame == .precondition {
            failure.blame = otherwise == .inconclusive ? .precondition : .limitation
            failure.skipsElement = otherwise == .next
        }
        guard failure.step == nil else { return failure }
        failure.lostLink?.isJudged = !scope.isSetup && step.otherwise == nil
        var place = step
        if let caller = scope.caller {
            place.position = caller.position
            failure.message += " (in the procedure, \(step.position))"
            // What a procedure is used for is the requirement of its steps, unless they have their own.
            if place.states == nil, let requirement = caller.states, failure.blame == .subject {
                place.states = requirement
                failure.message = place.stating(failure.message)
            }
        }
        failure.step = place
        if scope.isSetup, failure.blame == .subject { failure.blame = .precondition }
        return failure
    }

    private func run(_ step: Step, _ scope: inout Scope) async throws {
        switch step.kind {
        case .send(let command): try await send(command, step, &scope)
        case .action(let action): try await act(action, at: step, &scope)
        case .expect(let expectation): try await expect(expectation, step, &scope)
        case .expectNone(let expectation): try await expectNone(expectation, step, &scope)
        case .measure(let measurement): try await measure(measurement, step, &scope)
        case .air(let air):
            try await run(air, step, &scope)
            scope.reference.pass(to: loop.now)
        case .check(let operand, let predicate): try check(operand, predicate, step, scope)
        case .wait(let length):
            let end = try loop.now + duration(length, at: step.side, scope)
            try await log.rest(until: end)
            if loop.mode == .wall { lateness = max(lateness, loop.now - end) }
            scope.reference.pass(to: loop.now)
        case .repeated(let times, let counter, let steps): try await runRepeated(times, counter, steps, &scope)
        case .each(let list, let name, let steps): try await runEach(list, name, steps, &scope)
        case .attempts(let most, let steps, let between): try await runAttempts(most, steps, between, &scope)
        case .parallel(let branches):
            try await runParallel(branches, scope)
            scope.reference.pass(to: loop.now)
        case .mark: break
        case .either(let branches): try await runEither(branches, step, &scope)
        case .until(let awaited, let atMost, let steps): try await runUntil(awaited, atMost, steps, step, &scope)
        case .procedure(let use): try await runProcedure(use, step, &scope)
        }
    }

    // MARK: Helpers

    /// Stores a value under the name of `saveAs`.
    ///
    /// - Parameter place: the position of the packet with the value.
    func save(_ value: CaseValue, of step: Step, in scope: Scope, from place: String? = nil) {
        guard let name = step.saveAs else { return }
        scope.frame.variables[name] = value
        scope.frame.places[name] = place
        scope.frame.sources[name] = step.kind.pdu.map { ValueSource(pdu: $0) }
    }

    func resolve(_ operand: Operand, _ scope: Scope) throws -> CaseValue { try scope.frame.variables.resolve(operand) }

    func record(_ entries: [Operand.Entry], _ scope: Scope) throws -> CaseRecord {
        var record = CaseRecord()
        for entry in entries { record[entry.name] = try resolve(entry.value, scope) }
        return record
    }

    /// Returns the deadline of a step that starts now.
    func deadline(of step: Step) -> Microseconds { min(loop.now + (step.limit ?? testCase.limits.step), caseDeadline) }

    /// Returns a window's length in time, at the link's current interval.
    func duration(_ length: Window.Length, at side: Side, _ scope: Scope) throws -> Microseconds {
        switch try length.resolved(scope.frame.variables) {
        case .time(let time): return time
        case .saved: return .zero
        case .connectionEvents(let count):
            guard let interval = bench.connectionInterval(at: side) else {
                throw StepFailure(.precondition, "there is no connection whose events could be counted")
            }
            return interval * count + .milliseconds(1)
        case .advertisingEvents(let count):
            guard let interval = bench.advertisingInterval else {
                throw StepFailure(.precondition, "no advertising interval was set, so advertising events cannot be counted")
            }
            return interval * count + .milliseconds(1)
        }
    }

    func feature(_ name: String) -> Bool { features.contains(name) }
}
