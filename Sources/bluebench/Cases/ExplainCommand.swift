import ArgumentParser
import Conformance

/// `bluebench explain`: describes a case.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say what a case checks, what it needs and how it goes about it.")

    @Argument(help: "The case: phy/central-asks-2m.", completion: Completions.cases) var id: String
    @Option(help: ArgumentHelp("Where the cases are.", valueName: "folder"), completion: .directory) var cases = CaseFolder.standard

    @Flag(help: "As a message sequence: who sends what to whom.") var sequence = false
    @Flag(help: "As a message sequence for Mermaid, which GitHub and many wikis draw.") var mermaid = false

    func validate() throws {
        if sequence, mermaid { throw ValidationError("--sequence is for people, --mermaid for a page: one of them") }
    }

    func run() throws {
        let catalogue = try CaseFolder.load(cases, matching: [id])
        guard let text = Explanation.text(of: id, in: catalogue) else {
            throw CommandFailure(.usage, "there is no case '\(id)'\(Explanation.suggestion(for: id, in: catalogue))")
        }
        guard sequence || mermaid else { return Console.line(text) }
        guard let chart = Explanation.sequence(of: id, in: catalogue) else {
            throw CommandFailure(.usage, "'\(id)' is several cases, and a sequence shows one")
        }
        Console.line(mermaid ? chart.mermaid : chart.text)
    }
}
