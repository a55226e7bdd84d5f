import ArgumentParser
import BBCases
import BBConformance
import BBSessions
import Foundation

/// `bluebench check`: checks case files without running them.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check case files, procedures, mutants and variants without running them.",
        discussion: """
            Prints file:line:column and the reason of every mistake. Exit code 2 if there is one. Names that are saved and never used are warnings: they \
            prevent nothing, and with --strict they are mistakes.
            """)

    @Argument(help: "Folders of suites, or files of cases or procedures in them.", completion: .file()) var paths: [String] = [
        CaseFolder.standard
    ]

    @Flag(help: "Count warnings as mistakes.") var strict = false
    @Flag(help: "Also list the commands of the virtual controller that no case sends.") var commands = false
    @Flag(help: "Also list the fields of events, answers and control PDUs that no case checks, and compare them with unread-fields.txt.")
    var fields = false

    @Flag(help: "Print the page of public test cases and of the cases that show them, instead of the counts.") var coverage = false

    func run() throws {
        for path in paths {
            if coverage {
                let tests = try CaseFolder.publicTests(path)
                _ = try CaseFolder.load(path)
                Console.line(String(PublicCoverage(tests).page.dropLast()))
                continue
            }
            guard !path.hasSuffix(".yaml") && !path.hasSuffix(".yml") else {
                try tell(CaseFolder.check(file: path))
                Console.line("\(path): no mistakes")
                continue
            }
            let catalogue = try CaseFolder.load(path)
            try tell(catalogue.warnings)
            _ = try CaseFolder.knownPublicTests(path)
            let mutants = try CaseFolder.mutants(path, catalogue)
            let variants = try CaseFolder.variants(path)
            let suites = Set(catalogue.cases.map(\.suite)).count
            let files = Set(catalogue.cases.map(\.file)).count
            let rounds = catalogue.cases.count > files ? " with \(Console.count(catalogue.cases.count, "round"))" : ""
            let parts = [
                Console.count(files, "case") + rounds + " in " + Console.count(suites, "suite"),
                Console.count(catalogue.procedures.count, "procedure"), Console.count(mutants.count, "mutant"),
                Console.count(variants.count, "variant"),
            ]
            Console.line("\(path): \(parts.joined(separator: ", ")): no mistakes")
            if commands { tellUnsent(CommandCoverage(catalogue)) }
            if fields { try tellUnread(FieldCoverage(catalogue), path) }
        }
    }
}

extension CheckCommand {
    /// - Throws: with --strict, a usage error if there are warnings.
    private func tell(_ warnings: [Problem]) throws {
        if strict, !warnings.isEmpty { throw CommandFailure(Problems(warnings)) }
        for warning in warnings { Console.problem("\(warning)") }
    }

    private func tellUnsent(_ coverage: CommandCoverage) {
        Console.line("\(coverage.claimed.count - coverage.unsent.count) of \(coverage.claimed.count) claimed commands are sent by a case")
        for name in coverage.unsent { Console.line("not sent: \(name)") }
    }

    private func tellUnread(_ coverage: FieldCoverage, _ path: String) throws {
        let (declared, unread) = coverage.counts
        Console.line("\(declared - unread) of \(declared) fields of the subject's packets are checked by a case")
        for row in coverage.unread { Console.line("not checked: \(row.line)") }
        let list = path + "/unread-fields.txt"
        guard FileManager.default.fileExists(atPath: list) else { return }
        let (missing, stale) = coverage.differences(from: try String(contentsOfFile: list, encoding: .utf8))
        guard !missing.isEmpty || !stale.isEmpty else { return }
        for field in missing { Console.problem("\(list): no case checks \(field), which is not listed") }
        for field in stale { Console.problem("\(list): remove \(field), which a case checks") }
        throw CommandFailure(.usage, "\(list) differs from the cases in \(Console.count(missing.count + stale.count, "field"))")
    }
}
