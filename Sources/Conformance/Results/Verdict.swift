import BBPackets
import BBProducts
import BBTransport

/// The verdict of a case.
public enum Verdict: String, Sendable, Hashable, CaseIterable, Codable {
    case pass = "PASS"
    /// The subject has violated a requirement of the case.
    case fail = "FAIL"
    /// A precondition or the environment failed, so the subject cannot be judged.
    case inconclusive = "INCONC"
    /// The tester or the subject does not have a required feature.
    case notApplicable = "N/A"
    /// The bench itself failed.
    case error = "ERROR"
}

/// A packet that supports a verdict.
public struct Evidence: Sendable, Hashable, Codable {
    /// The packet's number in the capture, counted from 1; 0 if it is in none.
    public var packet: Int
    /// The side whose HCI it crossed.
    public var side: String
    public var text: String
    /// The time on the case's clock; nil if it has no meaning.
    public var milliseconds: Double?

    private enum CodingKeys: String, CodingKey {
        case packet, side, text
        case milliseconds = "at_ms"
    }

    public init(packet: Int, side: String, text: String, at time: Microseconds? = nil) {
        self.packet = packet
        self.side = side
        self.text = text
        milliseconds = time?.milliseconds
    }
}

extension [Evidence] {
    /// Returns each packet only once, at its first position.
    var withoutRepetitions: [Evidence] {
        var seen: Set<Evidence> = []
        return filter { evidence in
            var place = evidence
            if evidence.packet != 0 { (place.text, place.milliseconds) = ("", nil) }
            return seen.insert(place).inserted
        }
    }
}

/// The step at which a case ended.
public struct FailedStep: Sendable, Hashable, Codable {
    /// The position, such as `Conformance/phy/case.yaml:31:5`.
    public var position: String
    /// A description of the step.
    public var step: String
    /// The step's requirement; nil for a step without one.
    public var requirement: String?
    /// The expected and the received value; nil if they cannot be compared.
    public var expected: String?
    public var got: String?
    /// The number in the capture of the packet with the value; nil if there is none.
    public var packet: Int?

    public init(position: String, step: String, requirement: String?, diff: ExpectationDiff? = nil) {
        expected = diff?.expected
        got = diff?.got
        packet = diff?.packet
        self.position = position
        self.step = step
        self.requirement = requirement
    }
}

/// The result of a case.
public struct CaseResult: Sendable, Hashable {
    public var id: String
    public var title: String
    public var verdict: Verdict
    public var covers: [String]
    public var partialCovers: [String]
    /// The duration of the case in real time.
    public var durationMilliseconds: Double
    /// The duration of the case in the run's time.
    public var virtualMilliseconds: Double
    /// The longest scheduling delay of the machine; nil in virtual time.
    public var worstSchedulingDelayMilliseconds: Double?
    /// The seed of the case, derived from the run's seed and the case's id.
    public var seed: UInt64
    /// The start of the case in ISO 8601, in UTC; nil if unknown.
    public var started: String?
    /// The capture file to which the packet numbers refer; nil without a capture.
    public var capture: String?
    /// The range of the case's packets in that file; nil if it has none.
    public var packetRange: PacketRange?
    /// The contents of the case file for reports.
    public var about = CaseFacts()
    /// The execution of the steps in the case's own file.
    public var steps: [StepRecord] = []
    public var evidence: [Evidence]
    public var message: String
    public var failedStep: FailedStep?
    /// A packet that is an answer of another kind, although the message says that none came.
    public var overlooked: Evidence?
    /// The features that the case needs and tester or subject lacks: `subject.LE_2M_PHY`.
    public var lacks: [String] = []
    /// Remarks, such as failures of the teardown and skipped steps.
    public var notes: [String]
    /// The result with exchanged dongles; nil if that was not tried.
    public var swap: SwapOutcome?
    /// The case's packets; nil if they are not kept.
    public var trace: CaseTrace?
    /// All attempts if there were several; the case has the verdict of one of them.
    public var attempts: [CaseAttempt] = []
    /// The user's commands that ran around the attempts.
    public var commands: [CommandReport] = []
    /// The product's log during the case; nil without one.
    public var log: LogExcerpt?
    /// The subject's commands in the case.
    var conduct = CommandConduct()
    /// True if the run ended before the case.
    public var isNotRun = false
    /// True if the case could not begin because the device over the air was not found.
    var missedDevice = false
    /// The loss of the connection that ended the case while an answer was awaited.
    var lostLink: LostLink?
    /// True for FAIL and ERROR, which count towards the limit of a run.
    var isFailure: Bool { verdict == .fail || verdict == .error }

    public init(id: String, title: String, verdict: Verdict) {
        self.id = id
        self.title = title
        self.verdict = verdict
        covers = []
        partialCovers = []
        durationMilliseconds = 0
        virtualMilliseconds = 0
        seed = 0
        evidence = []
        message = ""
        notes = []
    }
}

extension CaseResult {
    /// True if a continued run keeps the result; cases with INCONC and ERROR run again.
    public var isFinal: Bool { verdict == .pass || verdict == .fail || verdict == .notApplicable }

    /// True if the case passed only when it was repeated, whatever an earlier attempt ended with.
    public var isFlaky: Bool { verdict == .pass && flakyAttempt != nil }

    /// The first attempt that did not pass.
    public var flakyAttempt: CaseAttempt? { attempts.first { $0.verdict != .pass } }
}

/// The result of a run.
public struct RunResult: Sendable {
    public var cases: [CaseResult]
    public var seed: UInt64
    public var shuffle: UInt64?
    public var tester: String
    public var subject: String
    /// True if the run was stopped before its end.
    public var isInterrupted: Bool
    /// The reason why the run ended before its last case; nil if it did not.
    public var ending: String?
    /// The shard of the cases, such as 2/4, or those of a merged run that lacks others; nil for all.
    public var shard: String?
    /// The cases that were divided into shards; nil for a run without them.
    public var selection: RunSelection?
    /// The shards that a merged run lacks.
    public var missingShards: [Int] = []
    /// True if a flaky case fails the run.
    public var failsOnFlaky = false
    /// The failures that do not fail the run.
    public var expectedFailures: [ExpectedFailure] = []
    /// The tolerance added to the ends of windows; nil in virtual time.
    public var slackMilliseconds: Double?
    /// The real devices of the run.
    public var devices: [DeviceReport] = []
    /// The selected product over the air, once it was found.
    public var product: ProductReport?
    /// The label of the tested build.
    public static let buildLabel = "build"
    /// The user's labels.
    public var labels: [String: String] = [:]
    /// The subject's results by command, if the bench uses its HCI.
    public var scorecard: CommandScorecard?
    /// The libusb resources that were in use after the devices were closed.
    public var usb: USBTally?

    public init(seed: UInt64, shuffle: UInt64? = nil, tester: String, subject: String) {
        cases = []
        self.seed = seed
        self.shuffle = shuffle
        self.tester = tester
        self.subject = subject
        isInterrupted = false
    }

    /// The longest scheduling delay of the machine in the run; nil in virtual time.
    public var worstSchedulingDelayMilliseconds: Double? { cases.compactMap(\.worstSchedulingDelayMilliseconds).max() }

    public func count(_ verdict: Verdict) -> Int { cases.count { $0.verdict == verdict } }

    public var flakyCount: Int { cases.count(where: \.isFlaky) }

    /// 0 if all cases passed, 1 for a FAIL that is not expected, an expected one that is missing, or a flaky case that fails the run, 3 for
    /// any other verdict, an incomplete run or no case at all.
    public var exitCode: Int32 {
        let expected = expectedFailureCount
        if count(.fail) > expected || !unexpectedPasses.isEmpty { return 1 }
        if count(.inconclusive) + count(.error) > 0 || count(.pass) + expected == 0 || isInterrupted { return 3 }
        return failsOnFlaky && flakyCount > 0 ? 1 : 0
    }
}
