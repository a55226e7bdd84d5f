import BBPackets

/// The user's shell commands around each case.
public struct CaseCommands: Sendable, Hashable {
    public var beforeCase: String?
    public var afterCase: String?
    /// Switches the product off and on, before a case is repeated after INCONC or ERROR.
    public var powerCycle: String?
    /// The time limit of a command.
    public var timeout = CaseCommands.standardTimeout
    /// The report's folder.
    public var report: String?

    public static let standardTimeout = Microseconds.seconds(60)

    public init() {}

    var isEmpty: Bool { beforeCase == nil && afterCase == nil && powerCycle == nil }
}

/// The execution of a command around a case.
public struct CommandReport: Sendable, Hashable, Codable {
    public enum Occasion: String, Sendable, Hashable, Codable, CaseIterable {
        case beforeCase = "before-case"
        case afterCase = "after-case"
        case powerCycle = "power-cycle"
    }

    public var occasion: Occasion
    /// The attempt at the case, from 1.
    public var attempt: Int
    /// Exit code; nil if the command did not exit by itself.
    public var exitCode: Int?
    /// The reason why it has no exit code.
    public var problem: String?
    public var durationMilliseconds = 0.0
    /// The last octets of its output, with escaped control characters.
    public var output = ""
    /// The number of earlier octets of the output.
    public var omitted = 0

    private enum CodingKeys: String, CodingKey {
        case occasion, attempt, problem, output
        case exitCode = "exit_code"
        case durationMilliseconds = "duration_ms"
        case omitted = "output_omitted"
    }

    init(_ occasion: Occasion, attempt: Int) { (self.occasion, self.attempt) = (occasion, attempt) }

    /// The failure with the last line of the output; nil for exit code 0.
    public var failure: String? {
        guard exitCode != 0 else { return nil }
        let reason = problem ?? exitCode.map { "exit code \($0)" } ?? "no exit code"
        let last = output.split(separator: "\n").last.map { ": \($0)" } ?? ""
        return "the command of --\(occasion.rawValue) failed, \(reason)\(last)"
    }

    /// A one-line description.
    public var line: String {
        let end = problem ?? exitCode.map { "exit code \($0)" } ?? ""
        return "\(occasion.rawValue), attempt \(attempt): \(end) after \(Int(saturating: durationMilliseconds.rounded())) ms"
    }
}
