import BBPackets
import BBProducts
import BBTiming
import Foundation

/// A running command of the user: collects its output, and ends it when its time is over or the run is stopped.
struct CommandWatch {
    private let process: ShellProcess
    private let began: Microseconds
    private let limit: Microseconds
    private var output: [UInt8] = []
    private var omitted = 0
    private var problem: String?
    private var isOpen = true
    private var killAt = Microseconds.never
    private var end: ProcessGroup.End?

    /// The time from SIGTERM to SIGKILL.
    private static let grace = Microseconds.milliseconds(700)
    private static let mostOutput = 16_384

    init(_ process: ShellProcess, since began: Microseconds, limit: Microseconds) {
        (self.process, self.began, self.limit) = (process, began, limit)
    }

    /// Reads output for a moment. After its time, or when the run is stopped, the process group gets SIGTERM, then SIGKILL.
    ///
    /// - Parameter milliseconds: the longest wait for output.
    /// - Returns: true when the shell has ended.
    mutating func step(waiting milliseconds: Int32, isStopped: Bool) -> Bool {
        if isOpen, let octets = process.read(waiting: milliseconds) {
            keep(octets)
        } else {
            // The shell has closed its output, so there is only its end to wait for.
            isOpen = false
            Self.wait(milliseconds: milliseconds)
        }
        end = process.ended()
        let now = MonotonicClock.now()
        if end == nil, problem == nil, isStopped || now - began >= limit {
            problem = isStopped ? "the run was stopped" : "it had not ended after \(Int(saturating: limit.seconds)) s"
            process.signal(SIGTERM)
            killAt = now + Self.grace
        }
        if now >= killAt {
            process.signal(SIGKILL)
            killAt = .never
        }
        return end != nil
    }

    /// Blocks the thread.
    static func wait(milliseconds: Int32) { poll(nil, 0, milliseconds) }

    /// Ends the process group at once.
    func kill() { process.signal(SIGKILL) }

    /// Returns the report with the end and the last output.
    mutating func finished(_ report: CommandReport) -> CommandReport {
        // A process that stays in the background keeps the pipe open; only what is there now is read.
        while isOpen, output.count < 4 * Self.mostOutput, let octets = process.read(waiting: 0), !octets.isEmpty { keep(octets) }
        if problem != nil { process.signal(SIGKILL) }
        var report = report
        report.problem = report.problem ?? problem
        switch end {
        case .exited(let code) where report.problem == nil: report.exitCode = code
        case .signalled(let number) where report.problem == nil: report.problem = "ended by signal \(number)"
        case .exited, .signalled, nil: break
        }
        report.omitted += omitted + max(0, output.count - Self.mostOutput)
        report.output = Self.text(output.suffix(Self.mostOutput))
        return report
    }

    private mutating func keep(_ octets: [UInt8]) {
        output += octets
        guard output.count > 2 * Self.mostOutput else { return }
        omitted += output.count - Self.mostOutput
        output.removeFirst(output.count - Self.mostOutput)
    }

    private static func text(_ octets: ArraySlice<UInt8>) -> String {
        String(decoding: octets, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in PlainText.escaped(String(line.hasSuffix("\r") ? line.dropLast() : line)) }
            .joined(separator: "\n")
    }
}
