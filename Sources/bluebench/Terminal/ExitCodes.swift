import ArgumentParser
import BBSessions

extension ExitCode {
    /// Every case passed, or the tool succeeded.
    static let pass = ExitCode(0)
    /// A case failed, or a measured value is below its limit.
    static let fail = ExitCode(1)
    /// The command line, or a file that it names, is wrong.
    static let usage = ExitCode(2)
    /// The bench itself failed, or no verdict could be reached.
    static let bench = ExitCode(3)
}

/// The failure of a subcommand.
typealias CommandFailure = BBSessions.CommandFailure
