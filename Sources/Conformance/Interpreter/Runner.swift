import Cases
import Packets
import Synchronization
import Timing
import Transport

/// What a run tells while it goes on. Called on the run's thread.
public protocol RunObserver: AnyObject {
    func began(_ testCase: TestCase, index: Int)
    func reached(_ step: String, in testCase: TestCase)
    func ended(_ result: CaseResult)
    /// A device is away; called about once a second while it is waited for.
    func waits(for device: String, because reason: String, left: Microseconds)
    func isBack(_ device: String, after time: Microseconds)
}

/// Runs the cases of a plan one after another, each on a bench of its own.
public final class Runner {
    let plan: RunPlan
    private let recorder: Recorder
    var factory: BenchFactory
    /// What is known of the device over the air, or why nothing is; nil until it matters.
    var survey: Result<DeviceDescription, StepFailure>?
    /// The product that the survey has found; nil until then.
    public internal(set) var product: ProductReport?
    /// The commands that the subject claims, once a case has asked.
    private var claimed: Set<String>?
    private let devices: HeldDevices?
    private weak var observer: (any RunObserver)?
    /// Raised, from any thread, to end the run soon; cases that have not run become INCONC.
    public let stopping = StopFlag()
    /// Why it was raised, if that is to be told.
    public let stopReason = StopReason()
    /// Why no further case is run although nobody has stopped the run.
    private var ending: String?
    /// Why no further case could run: a device that could not be opened, or that went away.
    public private(set) var lost: String?
    /// How often a case that a loss broke off is run again: more losses in one case are the case's doing.
    private static let mostRepetitions = 2

    /// - Parameters:
    ///   - port: where a foreign accessory has its controller.
    ///   - devices: what is at the ends, unless they are virtual.
    ///   - fault: what is wrong with the subject: a mutant's faults.
    ///   - surroundings: what a variant's world has otherwise than the usual one.
    public init(
        _ plan: RunPlan, recorder: Recorder, observer: (any RunObserver)? = nil, port: SubjectPort? = nil, devices: HeldDevices? = nil,
        fault: Fault = Fault(), surroundings: World = World()
    ) {
        self.devices = devices
        self.plan = plan
        self.recorder = recorder
        devices?.recorder = recorder
        self.observer = observer
        factory = BenchFactory(
            setup: plan.setup, recorder: recorder, catalogue: plan.catalogue, port: port, devices: devices, fault: fault,
            surroundings: surroundings)
        factory.keepsTraces = plan.keepsTraces
    }

    /// Opens the real devices, before the run. Without them every case is INCONC.
    ///
    /// - Returns: what they are; nil when they cannot be opened, `lost` tells why.
    public func open() -> [DeviceReport]? {
        lost = openDevices()
        return lost == nil ? devices?.reports ?? [] : nil
    }

    /// What the run is, without its cases.
    public var plannedRun: RunResult {
        var result = RunResult(
            seed: plan.setup.seed, shuffle: plan.shuffle, tester: plan.setup.isAlone ? "none" : plan.setup.tester.description,
            subject: factory.subjectName)
        result.shard = plan.shard
        if let devices { result.devices = devices.reports }
        result.labels = plan.labels
        result.product = namedProduct
        if !factory.isVirtual { result.slackMilliseconds = plan.setup.slack.milliseconds }
        return result
    }

    /// The product, where somebody has named one: the accessories of ours have no need of it.
    private var namedProduct: ProductReport? { plan.setup.peer != nil || plan.device != nil ? product : nil }

    /// What the plan has of an earlier run that is continued, in the order of its cases.
    public var knownResults: [CaseResult] { plan.cases.compactMap { plan.known[$0.id] } }

    /// Runs everything.
    ///
    /// - Parameter keep: takes each result when it is there, before the next case starts, and may add to it.
    public func run(keep: (inout CaseResult) throws -> Void = { _ in }) rethrows -> RunResult {
        var result = plannedRun
        for (index, testCase) in plan.cases.enumerated() {
            if let known = plan.known[testCase.id] {
                result.cases.append(known)
                continue
            }
            if let reason = reasonNotToRun {
                result.cases.append(notRun(testCase, because: reason))
                continue
            }
            observer?.began(testCase, index: index)
            var outcome = triedAgain(testCase, after: outcome(of: testCase))
            outcome.swap = swapped(testCase, after: outcome)
            outcome.about = CaseFacts(testCase)
            try keep(&outcome)
            result.cases.append(outcome)
            observer?.ended(outcome)
            let failures = result.cases.count { $0.verdict == .fail || $0.verdict == .error }
            if let most = plan.mostFailures, failures >= most { ending = "the run ended after \(most) failure\(most == 1 ? "" : "s")" }
        }
        result.isInterrupted = stopping.isRaised
        result.ending = result.cases.contains(where: \.isNotRun) || stopping.isRaised ? reasonNotToRun : nil
        result.product = namedProduct
        if let claimed { result.scorecard = CommandScorecard(plan.catalogue, result.cases, claimed: claimed) }
        return result
    }

    /// Why no further case can or shall be run; nil while all is well.
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

    /// The case's result when it may be tried again: a PASS ends that and decides, a FAIL is taken back by nothing else. All attempts are kept.
    private func triedAgain(_ testCase: TestCase, after first: CaseResult) -> CaseResult {
        var (result, attempts) = (first, [CaseAttempt(first)])
        defer { factory.attempt = 1 }
        while attempts.count <= plan.retries, !result.isSettled, reasonNotToRun == nil {
            factory.attempt += 1
            let next = outcome(of: testCase)
            attempts.append(CaseAttempt(next))
            if result.verdict != .fail || next.verdict == .fail || next.verdict == .pass { result = next }
        }
        if attempts.count > 1 { result.attempts = attempts }
        return result
    }

    /// What a FAIL comes to with the dongles exchanged; nil where it was none, or they cannot be exchanged.
    private func swapped(_ testCase: TestCase, after outcome: CaseResult) -> SwapOutcome? {
        guard plan.swapsFailures, outcome.verdict == .fail, !factory.isAccessoryOnly, lost == nil, !stopping.isRaised else { return nil }
        factory.isSwapped = true
        defer { factory.isSwapped = false }
        return SwapOutcome(runToItsEnd(testCase))
    }

    /// Why the devices cannot be opened, or opened again; nil when they are there.
    private func openDevices() -> String? {
        guard let devices else { return nil }
        do {
            return try devices.bringBack(stopping: stopping, observer: observer)
        } catch is CancellationError {
            return "the run was stopped before its devices were there"
        } catch { return "\(error)" }
    }

    /// Runs a case; when a device is lost meanwhile and comes back within the time-out, runs it again, from a fresh state.
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
        let loop = factory.makeLoop()
        defer { if !factory.sharesLoop { loop.end() } }
        return run(testCase, on: loop)
    }

    /// Runs a case in a world of its own, which is over afterwards.
    func run(_ testCase: TestCase, on loop: RunLoop) -> CaseResult {
        let start = loop.now
        recorder.beginCase(testCase.id)
        var result: CaseResult
        do {
            let bench = try factory.makeBench(for: testCase, loop: loop)
            let observer = observer
            let run = CaseRun(
                testCase, catalogue: plan.catalogue, bench: bench, isStopped: { [stopping] in stopping.isRaised },
                onStep: { step in observer?.reached(step.summary, in: testCase) },
                onFailure: { [recorder] text, isFail in recorder.mark("case \(testCase.id) \(isFail ? "fails" : "stops")\(text)") })
            let parameters = parameters(of: testCase)
            result = try stopping.run(on: loop) { await run.run(parameters: parameters) }
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
        result.virtualMilliseconds = (loop.now - start).milliseconds
        recorder.endCase(testCase.id, result.verdict, at: loop.now, isShared: factory.sharesLoop)
        return result
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
    /// A verdict that a loss may have brought about says nothing; a case that had passed before has passed.
    fileprivate mutating func becameDoubtful(because loss: String) {
        guard verdict == .fail || verdict == .error else { return }
        notes.append("\(verdict.rawValue) before the loss was noticed: \(message)")
        verdict = .inconclusive
        message = loss
    }

    /// Notes a loss that the case has met.
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
    /// A connection was lost again in the new attempt at the case.
    fileprivate mutating func settle(after attempts: Int) {
        message += "; so in each of \(attempts) attempts"
        if let lostLink, lostLink.isHeldAgainstTheSubject { verdict = .fail }
    }
}

extension CaseResult {
    /// Whether another attempt would change nothing.
    fileprivate var isSettled: Bool { verdict == .pass || verdict == .notApplicable }
}

/// Why a run is to end, told from any thread.
public final class StopReason: Sendable {
    private let stored = Mutex<String?>(nil)

    public init() {}

    /// The first that was told.
    public var text: String? { stored.withLock { $0 } }

    public func tell(_ text: String) { stored.withLock { $0 = $0 ?? text } }
}

/// A loss that a case has met.
private struct LossInCase {
    var reason: String
    /// The last packet before.
    var packet: Int
    var side: Side
    /// Whether the case was run again after it.
    var isRepeated: Bool
}
