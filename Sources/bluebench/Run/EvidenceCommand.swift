import ArgumentParser
import BBCases
import BBConformance
import BBReport
import BBSessions
import Foundation

/// `bluebench evidence`: the results of runs by the requirements of a profile.
struct EvidenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evidence", abstract: "Write a page for a technical file: requirements, and the results that bear on them.",
        discussion: """
            RESULTS are files that `bluebench run --json` has written, or report folders: one run for each state of the product, such as \
            factory default and operational. The page says for each requirement what was tried, with what result, and what no test over \
            the air shows. It never says that a product conforms.
            """)

    @Argument(help: "Results: JSON files or report folders.", completion: .file()) var results: [String]
    @Option(help: ArgumentHelp("Profile of requirements: en18031.", valueName: "name")) var profile = "en18031"
    @Option(help: ArgumentHelp("Write the page as Markdown. Default: standard output.", valueName: "file"), completion: .file())
    var output = "-"
    @Option(help: ArgumentHelp("Your own folder of cases with profiles.", valueName: "folder"), completion: .directory)
    var cases = CaseFolder.standard

    func run() throws {
        let catalogue = try CaseFolder.load(cases)
        let standard = cases == CaseFolder.standard ? catalogue : try CaseFolder.load(CaseFolder.standard)
        let known = standard.profiles.merging(catalogue.profiles) { $1 }
        guard let profile = known[profile], profile.isOfEvidence else {
            let names = known.values.filter(\.isOfEvidence).map(\.id).sorted().joined(separator: ", ")
            throw CommandFailure(.usage, "the profile '\(profile)' has no requirements to collect evidence for: use \(names)")
        }
        let runs = try results.map { path in
            let file = try ResultsFile.read(path)
            return EvidenceDocument.Run(path: path, result: file.result, facts: file.facts)
        }
        let ids = Set((standard.cases + catalogue.cases).map(\.id))
        try OutputFile(output).write(EvidenceDocument(profile, runs, cases: ids.sorted()).text)
    }
}
