import ArgumentParser
import Conformance

/// `bluebench explain`: a case in words.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say what a case checks, what it needs and how it goes about it.")

    @Argument(help: "The case: phy/central-asks-2m.", completion: Completions.cases) var id: String
    @Option(help: ArgumentHelp("Where the cases are.", valueName: "folder"), completion: .directory) var cases = CaseFolder.standard

    func run() throws {
        let catalogue = try CaseFolder.load(cases)
        guard let text = Explanation.text(of: id, in: catalogue) else {
            throw CommandFailure(.usage, "there is no case '\(id)'\(Explanation.suggestion(for: id, in: catalogue))")
        }
        Console.line(text)
    }
}
