import ArgumentParser
import BBConformance
import Foundation

/// The option for colour on the terminal.
struct ColourOption: ParsableArguments {
    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case auto, always, never
    }

    @Option(help: ArgumentHelp("Colour: auto (on a terminal, unless NO_COLOR is set), always or never.", valueName: "when"))
    var color =
        Choice.auto

    var isOn: Bool {
        switch color {
        case .always: return true
        case .never: return false
        case .auto:
            let environment = ProcessInfo.processInfo.environment
            return Console.isTerminal && environment["NO_COLOR"]?.isEmpty != false && environment["TERM"] != "dumb"
        }
    }

    /// Returns a verdict padded to the width of the longest.
    static func text(_ verdict: Verdict, isColoured: Bool) -> String {
        let padding = String(repeating: " ", count: max(0, 6 - verdict.rawValue.count))
        guard isColoured else { return verdict.rawValue + padding }
        let code =
            switch verdict {
            case .pass: 32
            case .fail: 31
            case .error: 35
            case .inconclusive: 33
            case .notApplicable: 90
            }
        return "\u{1B}[\(code)m\(verdict.rawValue)\u{1B}[0m\(padding)"
    }
}
