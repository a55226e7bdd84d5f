import ArgumentParser
import BBCases
import BBConformance
import BBProducts
import BBReport
import BBVirtualDongle
import Foundation

/// `bluebench schema`: prints the schemas of case files, device descriptions and results.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Print a JSON Schema of case files, for editors that check YAML, or of another format.",
        discussion: "In an editor with the YAML language server: # yaml-language-server: $schema=case.schema.json")

    @Flag(help: "Schema of procedure files.") var procedures = false
    @Flag(help: "Schema of device descriptions.") var device = false
    @Flag(help: "Schema of results.json.") var results = false

    @Flag(help: "The page of quirks as Markdown.") var quirks = false
    @Flag(help: "The pages of chips as JSON: file names and their Markdown.") var chips = false

    func run() throws {
        if quirks { return Console.line(String(QuirkCatalogue.page.dropLast())) }
        if results { return Console.line(ResultsSchema.text) }
        if device { return Console.line(DescriptionSchema.text) }
        if chips {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Console.line(String(decoding: try encoder.encode(ChipProfile.pages), as: UTF8.self))
        }
        let schema = CaseSchema(.declared(covers: nil))
        Console.line(procedures ? schema.procedure : schema.testCase)
    }
}
