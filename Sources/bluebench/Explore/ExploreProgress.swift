import BBExploration
import BBPackets
import BBTiming
import Synchronization

/// The progress and the result of a search on the terminal.
final class ExploreProgress: Sendable {
    private let subject: LinkRole
    private let isAlone: Bool
    private let began = MonotonicClock.now()
    private let shownAt = Mutex(MonotonicClock.now())

    /// - Parameter isAlone: true if both controllers are our own, so that the subject's role does not matter.
    init(subject: LinkRole, isAlone: Bool) { (self.subject, self.isAlone) = (subject, isAlone) }

    private var isTerminal: Bool { Console.isTerminal }

    /// Shows the progress ten times a second on a terminal, otherwise every ten seconds.
    func show(_ progress: Exploration.Progress) {
        let isDue = shownAt.withLock { last in
            guard MonotonicClock.now() - last > (isTerminal ? .milliseconds(100) : .seconds(10)) else { return false }
            last = MonotonicClock.now()
            return true
        }
        guard isDue else { return }
        let elapsed = (MonotonicClock.now() - began).seconds
        let left = elapsed / Double(max(progress.done, 1)) * Double(progress.total - progress.done)
        let text = "\(progress.done)/\(progress.total) paths, \(progress.runs) runs, \(Int(saturating: left.rounded())) s left"
        if isTerminal { Console.replaceLine(text) } else { Console.line(text) }
    }

    func end(_ result: Exploration.Progress) {
        if isTerminal { Console.write("\r\u{1B}[K") }
        for finding in result.findings {
            let violation = finding.violation
            Console.line("FAIL  \(violation.invariant.rawValue): \(violation.message) [\(violation.invariant.section)]")
            Console.line("      \(violation.invariant.statement)")
            Console.line("      \(finding.path); \(Console.count(finding.count, "run")) in all")
        }
        let role = isAlone ? "" : ", subject \(subject.rawValue)"
        let whole = result.done < result.total ? " of \(result.total), stopped" : ""
        let seconds = ((MonotonicClock.now() - began).seconds * 10).rounded() / 10
        Console.line(
            "\(Console.count(result.done, "path"))\(whole), \(result.runs) runs, \(Console.count(result.findings.count, "violation"))\(role); "
                + "\(seconds) s")
    }
}
