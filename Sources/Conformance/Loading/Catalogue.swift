import Foundation
import Yams

/// The cases and procedures of a folder.
public struct Catalogue: Sendable {
    /// Each case once, or once for each of its rounds.
    public var cases: [TestCase]
    public var procedures: [String: Procedure]
    /// Rules for accessories, by the names of their files.
    public var profiles: [String: AccessoryProfile]

    public init(
        cases: [TestCase], procedures: [String: Procedure], profiles: [String: AccessoryProfile] = [:]
    ) {
        self.cases = cases
        self.procedures = procedures
        self.profiles = profiles
    }

    /// A rule of a profile; nil if it has none of that name.
    func rule(_ name: String, of profile: String?) -> AccessoryProfile.Rule? {
        profile.flatMap { profiles[$0] }?.rules[name]
    }

    /// Folders beside the suites that hold no cases.
    public static let reserved: Set<String> = ["procedures", "mutants", "variants", "profiles"]
    /// The file beside the suites with the constants that all cases may use.
    static let constantsFile = "constants.yaml"

    /// Reads every case below `folder`: `<suite>/<case>.yaml`, and the procedures they use.
    ///
    /// - Parameter base: another folder whose procedures and constants can be used, too; those of `folder` go before them.
    /// - Throws: `Problems` with everything that is wrong in any file.
    public static func load(_ folder: String, base: String? = nil, vocabulary: Vocabulary) throws(Problems) -> Catalogue {
        try load(folder, only: nil, base: base, vocabulary: vocabulary)
    }

    /// Reads one case or procedure, `<folder>/<suite>/<case>.yaml`, with the procedures of its folder.
    ///
    /// - Throws: `Problems` with everything that is wrong in that file.
    public static func load(file: String, vocabulary: Vocabulary) throws(Problems) -> Catalogue {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count > 2 ? parts.dropLast(2).joined(separator: "/") : parts.count == 2 ? "." : ".."
        let suite =
            parts.count > 1
            ? String(parts[parts.count - 2]) : FileManager.default.currentDirectoryPath.split(separator: "/").last.map(String.init) ?? ""
        return try load(folder, only: suite + "/" + (parts.last.map(String.init) ?? file), vocabulary: vocabulary)
    }

    private static func load(_ folder: String, only: String?, base: String? = nil, vocabulary: Vocabulary) throws(Problems) -> Catalogue {
        var sources = CatalogueSources(folder: folder, vocabulary: vocabulary)
        if let base, base != folder { sources.build(on: base) }
        sources.read(only: only)
        guard sources.problems.isEmpty else { throw Problems(sources.problems) }
        return Catalogue(
            cases: sources.cases.flatMap(\.unrolled), procedures: sources.procedures,
            profiles: sources.profiles)
    }

    static func stem(_ file: String) -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        return name.hasSuffix(".yaml") ? String(name.dropLast(5)) : name
    }

    /// Paths relative to the folder, in order of their names.
    static func yamlFiles(below folder: String) -> [String] { files(below: folder).filter { $0.hasSuffix(".yaml") } }

    static func files(below folder: String) -> [String] {
        // A folder that is a link is entered; links below it are not.
        let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
        guard let found = FileManager.default.enumerator(atPath: root) else { return [] }
        return found.compactMap { $0 as? String }.sorted()
    }
}

/// The files of a folder on their way to a catalogue.
private struct CatalogueSources {
    let folder: String
    var vocabulary: Vocabulary
    var problems: [Problem] = []
    var profiles: [String: AccessoryProfile] = [:]
    var cases: [TestCase] = []
    var procedures: [String: Procedure] = [:]
    private var constants: [String: Node] = [:]
    private var signatures: [String: [Parameter]] = [:]

    init(folder: String, vocabulary: Vocabulary) {
        self.folder = folder
        self.vocabulary = vocabulary
    }

    /// Takes the procedures and constants of another folder, whose own mistakes are not looked at here.
    mutating func build(on base: String) {
        var other = CatalogueSources(folder: base, vocabulary: vocabulary)
        other.readConstants(true)
        other.readProcedures(Catalogue.yamlFiles(below: base).filter { $0.hasPrefix("procedures/") }, "")
        other.readProfiles(Catalogue.yamlFiles(below: base), true)
        (constants, signatures, procedures, profiles) = (other.constants, other.signatures, other.procedures, other.profiles)
    }

    /// - Parameter only: the one file whose problems matter; all files when nil.
    mutating func read(only: String?) {
        var files = Catalogue.files(below: folder)
        if let only, !files.contains(only) { files.append(only) }
        let isAlone = only != nil
        if !isAlone { checkNames(files) }
        let cased = files.filter { file in
            let parts = file.split(separator: "/")
            return file.hasSuffix(".yaml") && parts.count == 2 && !["mutants", "variants", "profiles"].contains(parts[0])
        }
        if cased.isEmpty { problems.append(Problem(Position(file: folder, line: 1, column: 1), "there are no case files here")) }
        readConstants(isAlone)
        readProfiles(files, isAlone)
        let procedureFiles = cased.filter { $0.hasPrefix("procedures/") }
        readProcedures(procedureFiles, only)
        let table = ProcedureTable(procedures)
        if let only { problems += table.circles.filter { $0.position.file == folder + "/" + only } } else { problems += table.circles }
        for name in procedures.keys.sorted() where only == nil || only == "procedures/\(name).yaml" {
            guard let procedure = table[name], procedure.position.file.hasPrefix(folder + "/") else { continue }
            problems += CaseCheck.problems(of: procedure, table, vocabulary)
        }
        for file in cased where !file.hasPrefix("procedures/") && (only == nil || only == file) { readCase(file, table) }
    }

    /// Files that would be passed over in silence.
    private mutating func checkNames(_ files: [String]) {
        for file in files {
            let place = Position(file: folder + "/" + file, line: 1, column: 1)
            if file.hasSuffix(".yml") {
                problems.append(Problem(place, "case files end in .yaml"))
            } else if file.hasSuffix(".yaml"), file != Catalogue.constantsFile, file.split(separator: "/").count != 2 {
                problems.append(Problem(place, "a case lies in the folder of its suite: <suite>/<case>.yaml"))
            }
        }
    }

    private mutating func readConstants(_ isAlone: Bool) {
        let path = folder + "/" + Catalogue.constantsFile
        guard FileManager.default.fileExists(atPath: path) else { return }
        var reader = SourceReader(file: path, vocabulary: vocabulary)
        if let root = reader.compose(), let keys = reader.keys(root, of: "the constants") {
            for entry in keys.entries {
                reader.checkName(entry.name, at: entry.position)
                constants[entry.name] = reader.constant(entry.node)
            }
        }
        if !isAlone { problems += reader.problems }
    }

    private mutating func readProfiles(_ files: [String], _ isAlone: Bool) {
        var found: [Problem] = []
        for file in files where file.hasPrefix("profiles/") && file.hasSuffix(".yaml") {
            let name = Catalogue.stem(file)
            profiles[name] = AccessoryProfile.read(folder + "/" + file, id: name, &found)
        }
        if !isAlone { problems += found }
        vocabulary.rules = AccessoryProfile.ruleNames(of: profiles.values)
    }

    /// Procedures use one another, so what each is called with is read before the steps of any.
    private mutating func readProcedures(_ files: [String], _ only: String?) {
        var roots: [(file: String, root: Node)] = []
        for file in files {
            var reader = reader(file)
            if let root = reader.compose() {
                signatures[Catalogue.stem(file)] = reader.signature(root)
                roots.append((file, root))
            } else if only == nil || only == file {
                problems += reader.problems
            }
        }
        for (file, root) in roots {
            var reader = reader(file)
            let name = Catalogue.stem(file)
            procedures[name] = reader.procedure(root, name: name)
            if only == nil || only == file { problems += reader.problems }
        }
    }

    private mutating func readCase(_ file: String, _ table: ProcedureTable) {
        var reader = reader(file)
        let suite = file.split(separator: "/").first.map(String.init) ?? ""
        if let root = reader.compose(), let testCase = reader.testCase(root, id: suite + "/" + Catalogue.stem(file)) {
            cases.append(testCase)
            // What follows from a step that could not be read is no mistake of its own.
            if reader.problems.isEmpty { problems += CaseCheck.problems(of: testCase, table, vocabulary) }
        }
        problems += reader.problems
    }

    private func reader(_ file: String) -> SourceReader {
        var reader = SourceReader(file: folder + "/" + file, vocabulary: vocabulary)
        reader.signatures = signatures
        reader.constants = constants
        return reader
    }
}

extension SourceReader {
    /// The file's only document, or nil with the problem noted.
    mutating func compose() -> Node? {
        let start = Position(file: file, line: 1, column: 1)
        guard let data = FileManager.default.contents(atPath: file) else {
            report(start, "the file cannot be read")
            return nil
        }
        guard let text = String(data: data, encoding: .utf8) else {
            report(start, "the file is not UTF-8 text")
            return nil
        }
        return compose(text)
    }

    mutating func compose(_ text: String) -> Node? {
        if let impediment = SourceLimits.impediment(in: text) {
            report(Position(file: file, line: impediment.line, column: impediment.column), impediment.text)
            return nil
        }
        do {
            guard let node = try Yams.compose(yaml: text) else {
                report(Position(file: file, line: 1, column: 1), "the file is empty")
                return nil
            }
            if SourceLimits.isReasonable(node) { return node }
            report(node, "with its aliases written out the file has more than \(SourceLimits.nodes) values")
        } catch let error as YamlError {
            let place = Self.position(of: error, file: file)
            report(place, Self.isTab(at: place, in: text) ? "not YAML: a tab; lines are indented with spaces" : Self.words(of: error))
        } catch {
            report(Position(file: file, line: 1, column: 1), "not YAML: \(error)")
        }
        return nil
    }

    private static func isTab(at place: Position, in text: String) -> Bool {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.indices.contains(place.line - 1) else { return false }
        return lines[place.line - 1].prefix { $0 == " " || $0 == "\t" }.contains("\t")
    }

    private static func position(of error: YamlError, file: String) -> Position {
        switch error {
        case .scanner(_, _, let mark, _), .parser(_, _, let mark, _), .composer(_, _, let mark, _):
            Position(file: file, line: max(1, mark.line), column: max(1, mark.column))
        case .duplicatedKeysInMapping(_, let context):
            Position(file: file, line: max(1, context.mark.line), column: max(1, context.mark.column))
        default: Position(file: file, line: 1, column: 1)
        }
    }

    private static func words(of error: YamlError) -> String {
        switch error {
        case .scanner(_, let problem, _, _), .parser(_, let problem, _, _), .composer(_, let problem, _, _): "not YAML: \(problem)"
        case .duplicatedKeysInMapping(let duplicates, _): "the same name twice: \(duplicates.sorted().joined(separator: ", "))"
        default: "not YAML: \(error)"
        }
    }
}
