import ArgumentParser
import BBCases
import BBConformance
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

    @Flag(help: "Print the page of public test-case ids and of the cases that cover them, instead of the counts.") var coverage = false

    func run() throws {
        for path in paths {
            if coverage {
                let known = try CaseFolder.publicIDs(path)
                Console.line(String(PublicCoverage(try CaseFolder.load(path), known: known).page.dropLast()))
                continue
            }
            guard !path.hasSuffix(".yaml") && !path.hasSuffix(".yml") else {
                try tell(CaseFolder.check(file: path))
                Console.line("\(path): no mistakes")
                continue
            }
            let catalogue = try CaseFolder.load(path)
            try tell(catalogue.warnings)
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
        if strict, !warnings.isEmpty { throw CaseFolder.refusal(Problems(warnings)) }
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

/// Reading of case folders with error messages for the command line.
enum CaseFolder {
    /// The built-in cases: in the folder if it exists, otherwise at the place of installation.
    static let standard: String = {
        let here = "Conformance"
        guard !FileManager.default.fileExists(atPath: here), let program = Bundle.main.executableURL?.resolvingSymlinksInPath() else {
            return here
        }
        let installed = program.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
            "share/bluebench/Conformance"
        ).path
        return FileManager.default.fileExists(atPath: installed) ? installed : here
    }()

    /// Loads all cases of a folder. Public ids are checked if their list is beside the suites. Cases in another folder may use the built-in
    /// procedures and constants.
    static func load(_ path: String) throws -> Catalogue { try read(path, nil) }

    /// Loads the cases that match the filters from a folder and the built-in ones; without filters, all cases of the folder. Other files
    /// are not opened.
    static func load(_ path: String, matching filters: [String], needsProfiles: Bool = false) throws -> Catalogue {
        guard !filters.isEmpty else { return try load(path) }
        // A misspelt name is answered with the names of all cases.
        let isNamed =
            path == standard
            ? Catalogue.canFind(filters, in: [path])
            : Catalogue.canFind(["*"], in: [path]) && Catalogue.canFind(filters, in: [path, standard])
        let filters = isNamed ? filters : nil
        let own = try read(path, filters, needsProfiles)
        guard path != standard, FileManager.default.fileExists(atPath: standard) else { return own }
        var all = try read(standard, filters, needsProfiles)
        let known = Set(own.cases.map(\.file))
        all.cases = own.cases + all.cases.filter { !known.contains($0.file) }
        all.procedures.merge(own.procedures) { $1 }
        all.profiles.merge(own.profiles) { $1 }
        return all
    }

    private static func read(_ path: String, _ filters: [String]?, _ needsProfiles: Bool = false) throws -> Catalogue {
        guard FileManager.default.fileExists(atPath: path) else {
            throw CommandFailure(.usage, "there are no cases in \(path): name their folder with --cases, or go to where it is")
        }
        do {
            let vocabulary = Vocabulary.declared(covers: try publicCases(path + "/covers.txt"))
            guard let filters else { return try Catalogue.load(path, base: standard, vocabulary: vocabulary) }
            return try Catalogue.load(path, matching: filters, needsProfiles: needsProfiles, base: standard, vocabulary: vocabulary)
        } catch {
            throw refusal(error)
        }
    }

    /// The public test-case ids that the cases of a folder may name.
    static func publicIDs(_ path: String) throws -> Set<String> {
        guard let known = try publicCases(path + "/covers.txt") else {
            throw CommandFailure(.usage, "\(path)/covers.txt is missing: the list of public test-case ids")
        }
        return known
    }

    private static func publicCases(_ path: String) throws(Problems) -> Set<String>? {
        FileManager.default.fileExists(atPath: path) ? try PublicCases.load(path) : nil
    }

    static func mutants(_ path: String, _ catalogue: Catalogue) throws -> [Mutant] {
        do {
            return try Mutant.load(path + "/mutants", catalogue: catalogue, vocabulary: .declared(covers: []))
        } catch {
            throw refusal(error)
        }
    }

    static func variants(_ path: String) throws -> [Variant] {
        do {
            return try Variant.load(path + "/variants", vocabulary: .declared(covers: []))
        } catch {
            throw refusal(error)
        }
    }

    /// Checks one case or procedure, which may use the built-in procedures and constants. Public ids are checked only if their list is
    /// beside the suites.
    ///
    /// - Returns: the warnings.
    static func check(file: String) throws -> [Problem] {
        let covers = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("covers.txt")
            .path
        do {
            return try Catalogue.load(file: file, base: standard, vocabulary: .declared(covers: try publicCases(covers))).warnings
        } catch {
            throw refusal(error)
        }
    }

    /// Prints the mistakes, each with its place at the beginning of the line, and returns the error that ends the command.
    static func refusal(_ problems: Problems) -> any Error {
        let list = problems.list.sorted {
            ($0.position.file, $0.position.line, $0.position.column) < ($1.position.file, $1.position.line, $1.position.column)
        }
        for problem in list { Console.problem("\(problem)") }
        guard list.count > 1 else { return ExitCode.usage }
        let files = Set(list.map(\.position.file)).count
        return CommandFailure(.usage, "\(list.count) mistakes in \(Console.count(files, "file"))")
    }
}
