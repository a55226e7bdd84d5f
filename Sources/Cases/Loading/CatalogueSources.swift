import Foundation
import Yams

/// The files of a folder while a catalogue is read.
struct CatalogueSources {
    private let folder: String
    private let scope: Catalogue.Scope
    private let base: String?
    private var vocabulary: Vocabulary
    private(set) var problems: [Problem] = []
    private(set) var profiles: [String: AccessoryProfile] = [:]
    private(set) var cases: [TestCase] = []
    private(set) var procedures: [String: Procedure] = [:]
    private var constants: [String: Node] = [:]
    private var signatures: [String: [Parameter]] = [:]
    /// The steps of procedures that could not be read, by procedure name.
    private var lost: [String: [Node]] = [:]
    /// The procedure files by procedure name.
    private var procedureFiles: [String: ProcedureFile] = [:]

    private struct ProcedureFile {
        var path: String
        var constants: [String: Node]
        /// True if mistakes in the file are reported.
        var isChecked: Bool
    }

    init(_ folder: String, _ scope: Catalogue.Scope, base: String?, _ vocabulary: Vocabulary) {
        self.folder = folder
        self.scope = scope
        self.base = base
        self.vocabulary = vocabulary
    }

    /// Reads the files of all kinds from both folders.
    ///
    /// - Parameter needsProfiles: true to read the profiles even if no case refers to a rule.
    mutating func read(needsProfiles: Bool) {
        if let base { prepare(base, isBase: true) }
        prepare(folder, isBase: false)
        let files = caseFiles()
        guard !isAll else {
            readProfiles()
            readProcedures(Set(procedureFiles.keys))
            return readCases(files.map { ($0, readings(of: $0)) })
        }
        let documents = files.map { ($0, readings(of: $0)) }
        let roots = documents.flatMap { $0.1.map(\.root) }
        if needsProfiles || roots.contains(where: { $0["rule"] != nil }) { readProfiles() }
        var used = roots.reduce(into: Set<String>()) { $1.addProcedures(to: &$0) }
        if let procedure = only.flatMap(Self.procedureName) { used.insert(procedure) }
        readProcedures(used)
        readCases(documents)
    }

    private var isAll: Bool { if case .everything = scope { true } else { false } }

    /// The only file whose mistakes are reported, if there is one.
    private var only: String? { if case .file(let file) = scope { file } else { nil } }

    private static func procedureName(_ file: String) -> String? {
        file.hasPrefix("procedures/") ? Catalogue.stem(file) : nil
    }

    // MARK: Names

    /// Returns the case files in the scope.
    private mutating func caseFiles() -> [String] {
        switch scope {
        case .file(let file):
            if Catalogue.caseless.contains(where: { file.hasPrefix($0 + "/") }) {
                let text = "mutants, variants and profiles are checked with their folder: bluebench check \(folder)"
                problems.append(Problem(Position(file: folder + "/" + file, line: 1, column: 1), text))
                return []
            }
            return Self.procedureName(file) == nil ? [file] : []
        case .named(let filters):
            return Catalogue.caseFiles(below: folder, matching: filters)
        case .everything:
            let files = Catalogue.files(below: folder)
            checkNames(files)
            let cased = files.filter { file in
                Catalogue.isCase(file) && !Catalogue.caseless.contains { file.hasPrefix($0 + "/") }
            }
            if cased.isEmpty { problems.append(Problem(Position(file: folder, line: 1, column: 1), "there are no case files here")) }
            return cased.filter { Self.procedureName($0) == nil }
        }
    }

    /// Reports files that would otherwise be ignored.
    private mutating func checkNames(_ files: [String]) {
        for file in files {
            let place = Position(file: folder + "/" + file, line: 1, column: 1)
            if file.hasSuffix(".yml") {
                problems.append(Problem(place, "case files end in .yaml"))
            } else if file.hasSuffix(".yaml"), file != Catalogue.constantsFile, file != Freedom.file, file.split(separator: "/").count != 2
            {
                problems.append(Problem(place, "a case lies in the folder of its suite: <suite>/<case>.yaml"))
            }
        }
    }

    // MARK: Procedures

    /// Reads the constants of a folder and the names of its procedures. Mistakes in a base folder are not reported.
    private mutating func prepare(_ folder: String, isBase: Bool) {
        readConstants(folder + "/" + Catalogue.constantsFile, isChecked: !isBase && only == nil)
        for file in Catalogue.files(below: folder + "/procedures") where file.hasSuffix(".yaml") && !file.contains("/") {
            let path = folder + "/procedures/" + file
            procedureFiles[Catalogue.stem(file)] = ProcedureFile(
                path: path, constants: constants, isChecked: !isBase && (only == nil || only == "procedures/" + file))
        }
    }

    private mutating func readConstants(_ path: String, isChecked: Bool) {
        guard FileManager.default.fileExists(atPath: path) else { return }
        var reader = SourceReader(file: path, vocabulary: vocabulary)
        if let root = reader.compose(), let keys = reader.keys(root, of: "the constants") {
            for entry in keys.entries {
                reader.checkName(entry.name, at: entry.position)
                constants[entry.name] = reader.constant(entry.node)
            }
        }
        if isChecked { problems += reader.problems }
    }

    private mutating func readProfiles() {
        for place in [base, folder] {
            guard let place else { continue }
            var found: [Problem] = []
            for file in Catalogue.files(below: place + "/profiles") where file.hasSuffix(".yaml") {
                let name = Catalogue.stem(file)
                profiles[name] = AccessoryProfile.read(place + "/profiles/" + file, id: name, &found)
            }
            if place == folder, only == nil { problems += found }
        }
        vocabulary.rules = AccessoryProfile.ruleNames(of: profiles.values)
    }

    /// Reads these procedures and the procedures that they use. All parameters are read before the steps.
    private mutating func readProcedures(_ names: Set<String>) {
        var roots: [(name: String, file: ProcedureFile, root: Node)] = []
        var seen: Set<String> = []
        var open = names
        while let name = open.popFirst() {
            guard seen.insert(name).inserted, let file = procedureFiles[name] else { continue }
            var reader = reader(file.path, file.constants)
            if let root = reader.compose() {
                signatures[name] = reader.signature(root)
                roots.append((name, file, root))
                root.addProcedures(to: &open)
            } else if file.isChecked {
                problems += reader.problems
            }
        }
        for (name, file, root) in roots.sorted(by: { $0.name < $1.name }) {
            var reader = reader(file.path, file.constants)
            procedures[name] = reader.procedure(root, name: name)
            lost[name] = reader.lost
            if file.isChecked { problems += reader.problems }
        }
    }

    // MARK: Cases

    /// Reads the document of a case file, once for each combination of the words of its rounds.
    private mutating func readings(of file: String) -> [RoundReading] {
        var reader = reader(folder + "/" + file, constants)
        defer { problems += reader.problems }
        return reader.compose().map { reader.readings(of: $0) } ?? []
    }

    /// Reads case files into the catalogue.
    private mutating func readCases(_ files: [(file: String, readings: [RoundReading])]) {
        let table = ProcedureTable(procedures)
        problems += table.circles.filter { only == nil || $0.position.file == folder + "/" + (only ?? "") }
        for name in procedures.keys.sorted() where procedureFiles[name]?.isChecked == true {
            if let procedure = table[name] {
                problems += CaseCheck.problems(of: procedure, table, vocabulary, lost: lost[name] ?? [])
            }
        }
        for (file, readings) in files { readCase(file, readings, table) }
    }

    /// Reads a case. A mistake is reported once; a name without effect only if it has none in all rounds.
    private mutating func readCase(_ file: String, _ readings: [RoundReading], _ table: ProcedureTable) {
        let suite = file.split(separator: "/").first.map(String.init) ?? ""
        var counts: [Problem: Int] = [:]
        for reading in readings {
            var reader = reader(folder + "/" + file, constants)
            var found: [Problem] = []
            if var testCase = reader.testCase(reading.root, id: suite + "/" + Catalogue.stem(file)) {
                testCase.round = reading.name
                let places = Set(reader.problems.map(\.position))
                found = CaseCheck.problems(of: testCase, table, vocabulary, lost: reader.lost).filter { !places.contains($0.position) }
                testCase.addNeededCommands(table, vocabulary)
                cases.append(testCase)
            }
            for problem in Set(reader.problems + found) { counts[problem, default: 0] += 1 }
            for problem in reader.problems + found where counts[problem] == (problem.isWarning ? readings.count : 1) {
                if !problems.contains(problem) { problems.append(problem) }
            }
        }
    }

    private func reader(_ path: String, _ constants: [String: Node]) -> SourceReader {
        var reader = SourceReader(file: path, vocabulary: vocabulary)
        reader.signatures = signatures
        reader.procedureNames = Set(procedureFiles.keys)
        reader.constants = constants
        return reader
    }
}

extension Node {
    /// Adds the names of the procedures used by steps below the node.
    fileprivate func addProcedures(to names: inout Set<String>) {
        switch self {
        case .scalar, .alias: break
        case .sequence(let sequence): for inner in sequence { inner.addProcedures(to: &names) }
        case .mapping(let mapping):
            for (key, value) in mapping {
                if key.string == "use", let name = value.string { names.insert(name) }
                value.addProcedures(to: &names)
            }
        }
    }
}
