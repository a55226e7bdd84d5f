import BBCases
import BBPackets
import BBProducts
import BBTiming
import BBTransport
import Synchronization

/// An observer of a run's progress. Called on the run's thread.
public protocol RunObserver: AnyObject {
    func began(_ testCase: TestCase, index: Int)
    func reached(_ step: String, in testCase: TestCase)
    func ended(_ result: CaseResult)
    /// Called about once a second while the run waits for a missing device.
    func waits(for device: String, because reason: String, left: Microseconds)
    func isBack(_ device: String, after time: Microseconds)
}

/// Runs the cases of a plan in order, each on its own bench.
public final class Runner {
    var plan: RunPlan
    private let recorder: Recorder
    var factory: BenchFactory
    /// The known facts about the device over the air, or the reason why there are none; nil until they are needed.
    var survey: Result<DeviceDescription, StepFailure>?
    /// The product found by the survey; nil until then.
    public internal(set) var product: ProductReport?
    /// The commands that the subject supports, once a case has read them.
    private var claimed: Set<String>?
    private let devices: HeldDevices?
    private let commands: CommandRun
    /// The product's log, if the user has named one.
    public var productLog: ProductLog?
    private weak var observer: (any RunObserver)?
    /// Called with the packets of each case after its end.
    var onPackets: (([Observation]) -> Void)?
    /// Raised on any thread to end the run; cases that have not run become INCONC.
    public let stopping = StopFlag()
    /// The reason for stopping, if it is to be reported.
    public let stopReason = StopReason()
    /// The reason why the run ends early, other than a stop.
    private var ending: String?
    /// The reason why no more cases can run: a device that could not be opened or was lost.
    public private(set) var lost: String?
    /// The number of cases in a row in which the device over the air was not found, and the last case in which it was.
    private var missed = 0
    private var lastSeen: String?
    /// The number of such cases that ends a run: each costs the time limit of the search.
    private static let mostMissed = 5
    /// The number of repetitions of a case after a device loss; further losses are attributed to the case.
    private static let mostRepetitions = 2

    /// - Parameters:
    ///   - port: the port of a foreign accessory's host.
    ///   - devices: the real devices, if there are any.
    ///   - fault: the faults of a mutant.
    ///   - surroundings: the world of a variant.
    public init(
        _ plan: RunPlan, recorder: Recorder, observer: (any RunObserver)? = nil, port: SubjectPort? = nil, devices: HeldDevices? = nil,
        fault: Fault = Fault(), surroundings: World = World()
    ) {
        self.devices = devices
        self.plan = plan
        commands = CommandRun(plan.commands, stopping: stopping)
        self.recorder = recorder
        devices?.recorder = recorder
        self.observer = observer
        factory = BenchFactory(
            setup: plan.setup, recorder: recorder, catalogue: plan.catalogue, port: port, devices: devices, fault: fault,
            surroundings: surroundings)
        factory.keepsTraces = plan.keepsTraces
    }

    /// Opens the real devices before the run. Without them every case is INCONC.
    ///
    /// - Returns: the devices; nil if they cannot be opened, with the reason in `lost`.
    public func open() -> [DeviceReport]? {
        lost = openDevices()
        return lost == nil ? devices?.reports ?? [] : nil
    }

    /// The description of the run without results.
    public var plannedRun: RunResult {
        var result = RunResult(
            seed: plan.setup.seed, shuffle: plan.shuffle, tester: plan.setup.isAlone ? "none" : plan.setup.tester.description,
            subject: factory.subjectName)
        (result.shard, result.selection, result.failsOnFlaky) = (plan.shard, plan.selection, plan.failsOnFlaky)
        if let devices { result.devices = devices.reports }
        (result.labels, result.expectedFailures) = (plan.labels, plan.expectedFailures)
        result.product = namedProduct
        if !factory.isVirtual { result.slackMilliseconds = plan.setup.slack.milliseconds }
        return result
    }

    /// The product, if the user has selected one; the bench's own accessories do not need it.
    private var namedProduct: ProductReport? { plan.setup.peer != nil || plan.device != nil ? product : nil }

    /// The number of cases to run.
    public var caseCount: Int { plan.cases.count }

    /// Removes the cases that do not concern the product that the user has selected, except those named one by one.
    ///
    /// - Returns: the numbers of the removed cases with reasons; nil if there are none.
    public func chooseForProduct() -> String? {
        guard isAboutProduct, case .success(let description)? = survey else { return nil }
        let text = plan.chooseFor(description, isAccessoryOnly: factory.isAccessoryOnly)
        product?.notRun = text
        return text
    }

    /// The results of the continued run, in the order of the cases.
    public var knownResults: [CaseResult] { plan.cases.compactMap { plan.known[$0.id] } }

    /// Runs all cases.
    ///
    /// - Parameter keep: receives each result before the next case starts, and may add to it.
    public func run(keep: (inout CaseResult) throws -> Void = { _ in }) rethrows -> RunResult {
        var result = plannedRun
        var failures = 0
        for (index, testCase) in plan.cases.enumerated() {
            if let known = plan.known[testCase.id] {
                result.cases.append(known)
                if known.isFailure, !result.isExpected(known) { failures += 1 }
                continue
            }
            if let reason = reasonNotToRun {
                result.cases.append(notRun(testCase, because: reason))
                continue
            }
            observer?.began(testCase, index: index)
            commands.begin(testCase)
            var outcome = triedAgain(testCase, after: outcome(of: testCase))
            outcome.commands = commands.reports
            outcome.swap = swapped(testCase, after: outcome)
            outcome.about = CaseFacts(testCase)
            try keep(&outcome)
            result.cases.append(outcome)
            observer?.ended(outcome)
            noteMissing(outcome)
            if outcome.isFailure, !result.isExpected(outcome) { failures += 1 }
            if let most = plan.mostFailures, failures >= most { ending = "the run ended after \(most) failure\(most == 1 ? "" : "s")" }
        }
        result.isInterrupted = stopping.isRaised
        result.ending = result.cases.contains(where: \.isNotRun) || stopping.isRaised ? reasonNotToRun : nil
        result.product = namedProduct
        if let claimed, !plan.isTrial {
            result.scorecard = CommandScorecard(
                plan.catalogue, plan.cases, result.cases, claimed: claimed, isWhole: plan.known.isEmpty)
        }
        return result
    }

    /// Ends the run if the device over the air is not found again and again.
    private func noteMissing(_ outcome: CaseResult) {
        guard outcome.missedDevice, isAboutProduct, !factory.isVirtual else {
            (missed, lastSeen) = (0, outcome.id)
            return
        }
        missed += 1
        guard missed == Self.mostMissed else { return }
        let since = lastSeen.map { "; it was there in \($0)" } ?? ""
        ending = "the device was not found in \(missed) cases in a row\(since)"
    }

    /// The reason why no more cases are run; nil if there is none.
    private var reasonNotToRun: String? {
        if stopping.isRaised { return stopReason.text ?? "the run was stopped before this case" }
        return lost ?? ending
    }

    private func notRun(_ testCase: TestCase, because reason: String) -> CaseResult {
        var result = CaseResult(id: testCase.id, title: testCase.title, verdict: .inconclusive)
        result.covers = testCase.covers.filter(\.isFull).map(\.id)
        result.partialCovers = testCase.covers.filter { !$0.isFull }.map(\.id)
        result.seed = plan.setup.seed(of: testCase.id)
        (result.message, result.isNotRun, result.about) = (reason, true, CaseFacts(testCase))
        return result
    }

    private func outcome(of testCase: TestCase) -> CaseResult {
        if testCase.subject == .controller, factory.isAccessoryOnly {
            var result = notRun(testCase, because: "the subject is an accessory; this case drives a controller through its HCI")
            (result.verdict, result.isNotRun) = (.notApplicable, false)
            return result
        }
        if testCase.subject == .host, factory.isAccessoryOnly, plan.setup.upperTester == nil {
            var result = notRun(testCase, because: "the subject is an accessory; --btp names the upper tester of its host")
            (result.verdict, result.isNotRun) = (.notApplicable, false)
            return result
        }
        if plan.setup.isAlone, testCase.needsTester(plan.catalogue) {
            var result = notRun(testCase, because: "it needs a second device: --tester names one")
            (result.verdict, result.isNotRun) = (.notApplicable, false)
            return result
        }
        let (began, before) = (MonotonicClock.now(), recorder.count)
        var result = runToItsEnd(testCase)
        result.seed = plan.setup.seed(of: testCase.id, attempt: factory.attempt)
        result.capture = recorder.captureName
        if recorder.captureName != nil { result.packetRange = PacketRange(first: before + 1, last: recorder.count) }
        result.durationMilliseconds = (MonotonicClock.now() - began).milliseconds
        if result.verdict == .inconclusive, stopping.isRaised, let reason = stopReason.text { result.message = reason }
        return result
    }

    /// Retries a case: a PASS ends the retries and decides, and only a PASS replaces a FAIL. All attempts are kept.
    private func triedAgain(_ testCase: TestCase, after first: CaseResult) -> CaseResult {
        var (result, attempts) = (first, [CaseAttempt(first)])
        defer { factory.attempt = 1 }
        while attempts.count <= commands.retries(after: result.verdict, planned: plan.retries), !result.isSettled, reasonNotToRun == nil {
            factory.attempt += 1
            let next = outcome(of: testCase)
            attempts.append(CaseAttempt(next))
            if result.verdict != .fail || next.verdict == .fail || next.verdict == .pass { result = next }
        }
        if attempts.count > 1 { result.attempts = attempts }
        return result
    }

    /// Repeats a FAIL with exchanged dongles; returns nil if there is no FAIL or they cannot be exchanged.
    private func swapped(_ testCase: TestCase, after outcome: CaseResult) -> SwapOutcome? {
        guard plan.swapsFailures, outcome.verdict == .fail, !factory.isAccessoryOnly, lost == nil, !stopping.isRaised else { return nil }
        factory.isSwapped = true
        defer { factory.isSwapped = false }
        return SwapOutcome(runToItsEnd(testCase))
    }

    /// Opens the devices, or reopens them; returns the reason if that fails.
    private func openDevices() -> String? {
        guard let devices else { return nil }
        do {
            return try devices.bringBack(stopping: stopping, observer: observer)
        } catch is CancellationError {
            return "the run was stopped before its devices were there"
        } catch { return "\(error)" }
    }

    /// Runs a case; if a device is lost and returns within the time-out, runs it again from a fresh state.
    private func runToItsEnd(_ testCase: TestCase) -> CaseResult {
        var losses: [LossInCase] = []
        var lostLinks = 0
        while true {
            var result = runOne(testCase)
            if result.lostLink != nil, lost == nil, !stopping.isRaised {
                lostLinks += 1
                if lostLinks == 1 { continue }
                result.settle(after: lostLinks)
            }
            if let lost {
                result.becameDoubtful(because: lost)
                let side = devices?.devices.first { $0.value.failure != nil }?.key ?? .tester
                let isBroken = result.verdict == .inconclusive
                if devices?.timeOut != nil { self.lost = openDevices() }
                let isRepeated = isBroken && self.lost == nil && losses.count < Self.mostRepetitions && !stopping.isRaised
                losses.append(LossInCase(reason: lost, packet: recorder.count, side: side, isRepeated: isRepeated))
                if isRepeated { continue }
                if isBroken { result.message = self.lost ?? "\(lost), for the \(losses.count). time in this case" }
            }
            for loss in losses { result.add(loss) }
            return result
        }
    }

    private func runOne(_ testCase: TestCase) -> CaseResult {
        if let result = resultWithoutRunning(testCase) { return result }
        return commands.around(testCase) {
            let loop = factory.makeLoop()
            defer { if !factory.sharesLoop { loop.end() } }
            return run(testCase, on: loop)
        }
    }

    /// Runs a case in its own world, which ends afterwards.
    func run(_ testCase: TestCase, on loop: RunLoop) -> CaseResult {
        let start = loop.now
        recorder.beginCase(testCase.id)
        productLog?.beginCase(after: commands.lastEnd)
        var result: CaseResult
        do {
            let bench = try factory.makeBench(for: testCase, loop: loop, tools: tools(on: loop))
            let observer = observer
            let run = CaseRun(
                testCase, catalogue: plan.catalogue, bench: bench, isStopped: { [stopping] in stopping.isRaised },
                onStep: { step in observer?.reached(step.summary, in: testCase) },
                onFailure: { [recorder] text, isFail in recorder.mark("case \(testCase.id) \(isFail ? "fails" : "stops")\(text)") })
            let parameters = parameters(of: testCase)
            result = try stopping.run(on: loop) { await run.run(parameters: parameters) }
            onPackets?(bench.log.observations)
            if claimed == nil, bench.end(.subject) != nil {
                let names = bench.features.filter { $0.hasPrefix("subject.") }.map { String($0.dropFirst("subject.".count)) }
                if !names.isEmpty { claimed = Features.commands.intersection(names) }
            }
            for end in bench.ends.values where end.failure != nil && loop.mode == .wall && lost == nil {
                lost = "the \(end.side.rawValue) was lost: \(end.failure.map { "\($0)" } ?? "")"
            }
        } catch {
            result = CaseResult(id: testCase.id, title: testCase.title, verdict: Self.verdict(for: error))
            result.message = (error as? StepFailure)?.message ?? "\(error)"
            if let error = error as? TransportError { lost = "no device: \(error)" }
        }
        productLog?.read(on: loop, after: commands.lastEnd)
        if let end = productLog?.endCase() { result.add(end) }
        result.virtualMilliseconds = (loop.now - start).milliseconds
        recorder.endCase(testCase.id, result.verdict, at: loop.now, isShared: factory.sharesLoop)
        return result
    }

    private func tools(on loop: RunLoop) -> ProductTools {
        var tools = ProductTools()
        tools.readLog = { [productLog, commands] in productLog?.read(on: loop, after: commands.lastEnd) }
        if plan.commands.powerCycle != nil { tools.switchPower = { [commands] in try await commands.switchPower(on: loop) } }
        return tools
    }

    private static func verdict(for error: any Error) -> Verdict {
        if error is TransportError { return .inconclusive }
        if let failure = error as? StepFailure, failure.blame == .environment { return .inconclusive }
        return .error
    }

    private func parameters(of testCase: TestCase) -> [String: CaseValue] {
        var values: [String: CaseValue] = [:]
        for parameter in testCase.parameters {
            values[parameter.name] = plan.parameters[testCase.id + "." + parameter.name] ?? plan.parameters[parameter.name]
        }
        return values
    }
}

extension CaseResult {
    /// Changes a verdict that a device loss may have caused to INCONC; a PASS before the loss remains.
    fileprivate mutating func becameDoubtful(because loss: String) {
        guard verdict == .fail || verdict == .error else { return }
        notes.append("\(verdict.rawValue) before the loss was noticed: \(message)")
        verdict = .inconclusive
        message = loss
    }

    /// Adds a device loss during the case.
    fileprivate mutating func add(_ loss: LossInCase) {
        evidence.append(Evidence(packet: loss.packet, side: loss.side.rawValue, text: "the last packet before \(loss.reason)"))
        if loss.isRepeated {
            notes.append("\(loss.reason); it came back, and the case was run again from a fresh state")
        } else if verdict != .inconclusive {
            notes.append("after the verdict \(loss.reason)")
        }
    }
}

extension CaseResult {
    /// Records that the connection was lost in the repeated attempt, too.
    fileprivate mutating func settle(after attempts: Int) {
        message += "; so in each of \(attempts) attempts"
        if let lostLink, lostLink.isHeldAgainstTheSubject { verdict = .fail }
    }
}

extension CaseResult {
    /// True if another attempt would not change the result.
    fileprivate var isSettled: Bool { verdict == .pass || verdict == .notApplicable }
}

/// The reason to end a run, set on any thread.
public final class StopReason: Sendable {
    private let stored = Mutex<String?>(nil)

    public init() {}

    /// The first reason that was set.
    public var text: String? { stored.withLock { $0 } }

    public func tell(_ text: String) { stored.withLock { $0 = $0 ?? text } }
}

/// A device loss during a case.
private struct LossInCase {
    var reason: String
    /// The number of the last packet before the loss.
    var packet: Int
    var side: Side
    /// True if the case was repeated after the loss.
    var isRepeated: Bool
}
