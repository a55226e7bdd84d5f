import Packets
import TransportUSB

/// What a case found.
public enum Verdict: String, Sendable, Hashable, CaseIterable, Codable {
    case pass = "PASS"
    /// The subject did not do what the case requires.
    case fail = "FAIL"
    /// A precondition or the environment failed, so nothing can be said about the subject.
    case inconclusive = "INCONC"
    /// The case needs what tester or subject do not have.
    case notApplicable = "N/A"
    /// The bench itself failed.
    case error = "ERROR"
}

/// A packet that supports a verdict.
public struct Evidence: Sendable, Hashable, Codable {
    /// The packet's number in the capture, counted from 1; 0 for what is in none.
    public var packet: Int
    /// Whose HCI it crossed.
    public var side: String
    public var text: String
    /// When it was, on the clock of the case; nil where that says nothing.
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
    /// Each packet once, where it comes first.
    var withoutRepetitions: [Evidence] {
        var seen: Set<Evidence> = []
        return filter { evidence in
            var place = evidence
            if evidence.packet != 0 { (place.text, place.milliseconds) = ("", nil) }
            return seen.insert(place).inserted
        }
    }
}

/// Where a case stopped.
public struct FailedStep: Sendable, Hashable, Codable {
    /// `Conformance/phy/case.yaml:31:5`.
    public var position: String
    /// The step in words.
    public var step: String
    /// The requirement the step states; nil for a step that is only a way to one.
    public var requirement: String?
    /// What was expected and what came instead; nil where they cannot be set side by side.
    public var expected: String?
    public var got: String?
    /// The packet that brought it, by its number in the capture; nil where there was none.
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

/// One case's outcome.
public struct CaseResult: Sendable, Hashable {
    public var id: String
    public var title: String
    public var verdict: Verdict
    public var covers: [String]
    public var partialCovers: [String]
    /// How long the case took on the machine.
    public var durationMilliseconds: Double
    /// How long it lasted in the run's own time.
    public var virtualMilliseconds: Double
    /// How late the machine served the bench, at worst; nil in virtual time.
    public var worstSchedulingDelayMilliseconds: Double?
    /// The seed the case ran with: the run's seed and the case's id mixed.
    public var seed: UInt64
    /// When the case began: as in ISO 8601, in UTC; nil where nobody told.
    public var started: String?
    /// The file in which the packets of the evidence are counted; nil without a capture.
    public var capture: String?
    /// Its packets in that file; nil where it has none.
    public var packetRange: PacketRange?
    /// What its file says of it.
    public var about = CaseFacts()
    /// How far it came: the steps of the case's own file.
    public var steps: [StepRecord] = []
    public var evidence: [Evidence]
    public var message: String
    public var failedStep: FailedStep?
    /// The message says that nothing came, and this had come, which answers the same request.
    public var overlooked: Evidence?
    /// Remarks: what teardown could not do, what was skipped.
    public var notes: [String]
    /// What it came to with the dongles exchanged; nil where that was not tried.
    public var swap: SwapOutcome?
    /// Its packets; nil where nobody wanted them kept.
    public var trace: CaseTrace?
    /// Every attempt, where there was more than one; the case has the verdict of one of them.
    public var attempts: [CaseAttempt] = []
    /// The run ended before it was its turn.
    public var isNotRun = false
    /// A connection that was lost where an answer was awaited ended it.
    var lostLink: LostLink?

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
    /// Whether a continued run may keep the result; INCONC and ERROR deserve another try.
    public var isFinal: Bool { verdict == .pass || verdict == .fail || verdict == .notApplicable }

    /// It passed after a FAIL in the same run.
    public var isFlaky: Bool { verdict == .pass && attempts.contains { $0.verdict == .fail } }
}

/// A run's outcome.
public struct RunResult: Sendable {
    public var cases: [CaseResult]
    public var seed: UInt64
    public var shuffle: UInt64?
    public var tester: String
    public var subject: String
    /// Whether the run was stopped before its end.
    public var isInterrupted: Bool
    /// Why it ended before its last case; nil where it did not.
    public var ending: String?
    /// The part of the cases that it was, 2/4; nil for all.
    public var shard: String?
    /// What was added to the ends of windows; nil in virtual time.
    public var slackMilliseconds: Double?
    /// The devices at the ends, if they are real.
    public var devices: [DeviceReport] = []
    /// The product over the air that was named, once it was found.
    public var product: ProductReport?
    /// The label that says what was tested.
    public static let buildLabel = "build"
    /// Words of the user's own.
    public var labels: [String: String] = [:]
    /// The subject command by command, where the bench has its HCI.
    public var scorecard: CommandScorecard?
    /// What of libusb was in use, after the devices were closed.
    public var usb: USBTally?

    public init(seed: UInt64, shuffle: UInt64? = nil, tester: String, subject: String) {
        cases = []
        self.seed = seed
        self.shuffle = shuffle
        self.tester = tester
        self.subject = subject
        isInterrupted = false
    }

    /// How late the machine served the bench in the run, at worst; nil in virtual time.
    public var worstSchedulingDelayMilliseconds: Double? { cases.compactMap(\.worstSchedulingDelayMilliseconds).max() }

    public func count(_ verdict: Verdict) -> Int { cases.count { $0.verdict == verdict } }

    /// 0 pass, 1 a FAIL, 3 anything else that is not a pass; no case at all is an error.
    public var exitCode: Int32 {
        if count(.fail) > 0 { return 1 }
        return count(.inconclusive) + count(.error) > 0 || count(.pass) == 0 ? 3 : 0
    }
}
