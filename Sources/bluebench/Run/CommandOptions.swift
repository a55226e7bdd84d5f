import ArgumentParser
import BBConformance
import Foundation

/// The user's shell commands around each case.
struct CommandOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Shell command before each case; BLUEBENCH_CASE and other variables describe it. A failure is an ERROR of the case.",
            valueName: "command"))
    var beforeCase: String?
    @Option(help: ArgumentHelp("Shell command after each case; BLUEBENCH_VERDICT has its verdict.", valueName: "command"))
    var afterCase: String?
    @Option(
        help: ArgumentHelp(
            "Shell command that switches the product off and on. It runs before a case is repeated after INCONC or ERROR; one repeat is implied.",
            valueName: "command"))
    var powerCycle: String?
    @Option(
        help: ArgumentHelp(
            "Time limit of each of these shell commands. Default: \(Int(saturating: CaseCommands.standardTimeout.seconds)).",
            valueName: "seconds"),
        transform: Arguments.whole(1...3_600))
    var commandTimeout: Int?

    /// Rejects options without effect.
    func check() throws {
        if Arguments.given("--command-timeout"), beforeCase == nil, afterCase == nil, powerCycle == nil {
            throw CommandFailure(.usage, "--command-timeout needs --before-case, --after-case or --power-cycle")
        }
        for (name, command) in texts {
            if let command, command.allSatisfy(\.isWhitespace) { throw CommandFailure(.usage, "\(name) takes a shell command") }
        }
    }

    func commands(report: String?) -> CaseCommands {
        var commands = CaseCommands()
        (commands.beforeCase, commands.afterCase, commands.powerCycle) = (beforeCase, afterCase, powerCycle)
        if let commandTimeout { commands.timeout = .seconds(commandTimeout) }
        commands.report = report.map { URL(fileURLWithPath: $0).path }
        return commands
    }
}
