import ArgumentParser
import Conformance

/// `bluebench explain`: describes a case.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Describe a case: what it checks, what it needs and its steps.")

    @Argument(help: "Case: phy/central-asks-2m.", completion: Completions.cases) var id: String
    @Option(help: ArgumentHelp("Folder of the cases.", valueName: "folder"), completion: .directory) var cases = CaseFolder.standard

    @Flag(help: "Print a message sequence chart.") var sequence = false
    @Flag(help: "Print the chart for Mermaid, which GitHub and many wikis draw.") var mermaid = false

    func validate() throws {
        if sequence, mermaid { throw ValidationError("--sequence and --mermaid exclude each other") }
    }

    func run() throws {
        let catalogue = try CaseFolder.load(cases, matching: [id])
        guard let text = CaseExplanation.text(of: id, in: catalogue) else {
            throw CommandFailure(.usage, "there is no case '\(id)'\(CaseExplanation.suggestion(for: id, in: catalogue))")
        }
        guard sequence || mermaid else { return Console.line(text) }
        guard let chart = CaseExplanation.sequence(of: id, in: catalogue) else {
            throw CommandFailure(.usage, "'\(id)' is several cases, and a sequence shows one")
        }
        Console.line(mermaid ? chart.mermaid : chart.text)
    }
}
