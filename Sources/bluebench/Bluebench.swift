import ArgumentParser
import BBCases
import BBConformance
import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The command line. Each subcommand has its own file.
@main
struct Bluebench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bluebench",
        abstract: "A Bluetooth test bench: conformance, behaviour and throughput over USB dongles or in simulation.",
        discussion: "Exit codes: 0 pass, 1 fail, 2 usage, 3 bench error or INCONC without a FAIL; 128 + n: ended by the signal n.",
        version: version,
        subcommands: [
            RunCommand.self, MergeCommand.self, EvidenceCommand.self, NewCommand.self, CheckCommand.self, SchemaCommand.self,
            ExplainCommand.self, MutantsCommand.self, VariantsCommand.self, ExploreCommand.self,
            ScanCommand.self, SurveyCommand.self, AdvertiseCommand.self, GATTCommand.self, L2CAPCommand.self, PairCommand.self,
            BridgeCommand.self, BondsCommand.self, DongleCommand.self, DevicesCommand.self,
            ShowCommand.self, ThroughputCommand.self, CompareCommand.self, HistoryCommand.self, LoopbackCommand.self, StartCommand.self,
            ShareCommand.self, BTPCommand.self, CaptureCommand.self, ExtcapCommand.self, MCPCommand.self,
        ])

    static let version = "0.1.0"

    static func main() {
        Console.fillStandardStreams()
        signal(SIGPIPE, SIG_IGN)
        preventCoreDumps()
        let arguments = Arguments.tied(CommandLine.arguments.dropFirst())
        do {
            try checkCommand(arguments.first)
            if arguments.first == "help" { try checkCommand(arguments.dropFirst().first) }
            var command = try parse(BenchConfig.complete(arguments))
            try command.run()
            Console.leave(with: ExitCode.pass.rawValue)
        } catch {
            finish(with: error)
        }
    }

    /// A core dump would keep the keys of bonds and links on the disk.
    private static func preventCoreDumps() {
        #if canImport(Glibc)
            let core = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        #else
            let core = RLIMIT_CORE
        #endif
        var limit = rlimit()
        guard getrlimit(core, &limit) == 0 else { return }
        limit.rlim_cur = 0
        setrlimit(core, &limit)
    }

    /// Parses the command line. Meanwhile, another thread reads the declared names for `run`, which takes as long.
    private static func parse(_ arguments: [String]) throws -> ParsableCommand {
        let names = arguments.first == RunCommand.configuration.commandName ? SystemThread { _ = Vocabulary.declared } : nil
        defer { names?.join() }
        return try parseAsRoot(arguments)
    }

    private static func checkCommand(_ word: String?) throws {
        let names = configuration.subcommands.filter { $0.configuration.shouldDisplay }.compactMap { $0.configuration.commandName }
        let all = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let word, !word.hasPrefix("-"), word != "help", !all.contains(word) else { return }
        let near = Suggestion.text(for: word, among: names)
        throw CommandFailure(
            .usage, "there is no command '\(word)'" + (near.isEmpty ? "; there are \(names.joined(separator: ", "))" : near))
    }

    /// Returns the help to consult after a parser error.
    private static func hint(for message: String) -> String {
        guard ["Unknown option", "Unexpected argument", "Missing expected"].contains(where: message.hasPrefix) else { return "" }
        let command = CommandLine.arguments.dropFirst().first.map { $0.hasPrefix("-") ? "" : $0 + " " } ?? ""
        return "; `bluebench \(command)--help` shows what there is"
    }

    /// Ends the process with the exit code for `error` and at most one line on the standard error stream.
    private static func finish(with error: any Error) -> Never {
        switch error {
        case let failure as CommandFailure:
            for mistake in failure.mistakes { Console.problem(mistake) }
            if !failure.message.isEmpty {
                Console.complain(failure.code == .usage ? BenchConfig.explained(failure.message) : failure.message)
            }
            Console.leave(with: failure.code.rawValue)
        case let code as ExitCode:
            Console.leave(with: code.rawValue)
        default:
            guard exitCode(for: error) != .success else {
                Console.line(fullMessage(for: error))
                Console.leave(with: ExitCode.pass.rawValue)
            }
            let isUsage = exitCode(for: error) == .validationFailure
            let text = message(for: error)
            let known = UnknownOption(text, of: CommandLine.arguments.dropFirst().first)
            Console.complain((known?.text ?? text) + hint(for: text))
            Console.leave(with: (isUsage ? ExitCode.usage : .bench).rawValue)
        }
    }
}
