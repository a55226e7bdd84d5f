import ArgumentParser

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The command line: parse, call, print. One file for each subcommand.
@main
struct Bluebench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bluebench",
        abstract: "A Bluetooth test bench: conformance, behaviour and throughput over USB dongles or in simulation.",
        discussion: "Exit codes: 0 pass, 1 fail, 2 usage, 3 bench error or INCONC without a FAIL.",
        version: "0.1.0",
        subcommands: [
            RunCommand.self, CheckCommand.self, SchemaCommand.self, ExplainCommand.self, MutantsCommand.self, ScanCommand.self,
            GATTCommand.self,
            DongleCommand.self, DevicesCommand.self,
            ShowCommand.self, ThroughputCommand.self, LoopbackCommand.self,
        ])

    static func main() {
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            finish(with: error)
        }
    }

    /// Ends the process with the exit code for `error` and at most one line on the standard error stream.
    private static func finish(with error: any Error) -> Never {
        switch error {
        case let failure as CommandFailure:
            Console.complain(failure.message)
            Console.leave(with: failure.code.rawValue)
        case let code as ExitCode:
            Console.leave(with: code.rawValue)
        default:
            guard exitCode(for: error) != .success else {
                Console.line(fullMessage(for: error))
                Console.leave(with: ExitCode.pass.rawValue)
            }
            let isUsage = exitCode(for: error) == .validationFailure
            Console.complain(message(for: error))
            Console.leave(with: (isUsage ? ExitCode.usage : .bench).rawValue)
        }
    }
}
