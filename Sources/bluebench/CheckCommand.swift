import ArgumentParser
import Conformance

/// `bluebench check`: case files, without running them.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check case files, procedures and mutants without running anything.",
        discussion: "Prints file:line:column and what is wrong for every mistake; exit code 2 if there is one.")

    @Argument(help: "Folders with suites.") var paths: [String] = [CaseFolder.standard]

    func run() throws {
        for path in paths {
            let catalogue = try CaseFolder.load(path)
            let mutants = try CaseFolder.mutants(path, catalogue)
            let suites = Set(catalogue.cases.map(\.suite)).count
            Console.line(
                "\(path): \(catalogue.cases.count) cases in \(suites) suites, \(catalogue.procedures.count) procedures, \(mutants.count) mutants: no mistakes"
            )
        }
    }
}

/// Reading case folders with errors as the command line tells them.
enum CaseFolder {
    static let standard = "Conformance"

    static func load(_ path: String) throws -> Catalogue {
        do {
            return try Catalogue.load(path, vocabulary: .declared(covers: try PublicCases.load(path + "/covers.txt")))
        } catch {
            throw refusal(error)
        }
    }

    static func mutants(_ path: String, _ catalogue: Catalogue) throws -> [Mutant] {
        do {
            return try Mutant.load(path + "/mutants", catalogue: catalogue)
        } catch {
            throw refusal(error)
        }
    }

    static func refusal(_ problems: Problems) -> CommandFailure {
        for problem in problems.list.dropLast() { Console.problem("\(problem)") }
        return CommandFailure(.usage, problems.list.last.map { "\($0)" } ?? "nothing to do")
    }
}
