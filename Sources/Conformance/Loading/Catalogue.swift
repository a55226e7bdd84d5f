import Foundation
import Yams

/// The cases and procedures of a folder.
public struct Catalogue: Sendable {
    public var cases: [TestCase]
    public var procedures: [String: Procedure]

    public init(cases: [TestCase], procedures: [String: Procedure]) {
        self.cases = cases
        self.procedures = procedures
    }

    /// Folders beside the suites that hold no cases.
    static let reserved: Set<String> = ["procedures", "mutants"]

    /// Reads every case below `folder`: `<suite>/<case>.yaml`, and the procedures they use.
    ///
    /// - Throws: `Problems` with everything that is wrong in any file.
    public static func load(_ folder: String, vocabulary: Vocabulary) throws(Problems) -> Catalogue {
        var problems: [Problem] = []
        let files = yamlFiles(below: folder)
        if files.isEmpty { problems.append(Problem(Position(file: folder, line: 1, column: 1), "there are no case files here")) }
        var cases: [TestCase] = []
        var procedures: [String: Procedure] = [:]
        var uses: [(name: String, position: Position)] = []
        for file in files {
            let suite = file.split(separator: "/").dropLast().last.map(String.init) ?? ""
            guard file.contains("/"), suite != "mutants" else { continue }
            let path = folder + "/" + file
            var reader = SourceReader(file: path, vocabulary: vocabulary)
            if let root = reader.compose() {
                if suite == "procedures" {
                    let name = stem(file)
                    procedures[name] = reader.procedure(root, name: name)
                } else if let testCase = reader.testCase(root, id: suite + "/" + stem(file)) {
                    cases.append(testCase)
                }
            }
            uses += reader.uses
            problems += reader.problems
        }
        for use in uses where procedures[use.name] == nil && !problems.contains(where: { $0.position.file.hasSuffix("/\(use.name).yaml") })
        {
            problems.append(
                Problem(use.position, "there is no procedure '\(use.name)'" + Suggestion.text(for: use.name, among: procedures.keys)))
        }
        problems += checkArguments(cases, procedures)
        guard problems.isEmpty else { throw Problems(problems) }
        return Catalogue(cases: cases, procedures: procedures)
    }

    private static func checkArguments(_ cases: [TestCase], _ procedures: [String: Procedure]) -> [Problem] {
        var problems: [Problem] = []
        func visit(_ step: Step) {
            if case .procedure(let use) = step.kind, let procedure = procedures[use.name] {
                let names = procedure.parameters.map(\.name)
                for argument in use.arguments where !names.contains(argument.name) {
                    let hint = Suggestion.text(for: argument.name, among: names)
                    problems.append(Problem(argument.position, "procedure \(use.name) has no parameter '\(argument.name)'" + hint))
                }
            }
            step.inner.forEach(visit)
        }
        for testCase in cases { (testCase.setup + testCase.steps + testCase.teardown).forEach(visit) }
        for procedure in procedures.values { procedure.steps.forEach(visit) }
        return problems
    }

    static func stem(_ file: String) -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        return name.hasSuffix(".yaml") ? String(name.dropLast(5)) : name
    }

    /// Paths relative to the folder, in order of their names.
    static func yamlFiles(below folder: String) -> [String] {
        guard let found = FileManager.default.enumerator(atPath: folder) else { return [] }
        return found.compactMap { $0 as? String }.filter { $0.hasSuffix(".yaml") }.sorted()
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
        do {
            if let node = try Yams.compose(yaml: text) { return node }
            report(Position(file: file, line: 1, column: 1), "the file is empty")
        } catch let error as YamlError {
            report(Self.position(of: error, file: file), Self.words(of: error))
        } catch {
            report(Position(file: file, line: 1, column: 1), "not YAML: \(error)")
        }
        return nil
    }

    private static func position(of error: YamlError, file: String) -> Position {
        switch error {
        case .scanner(_, _, let mark, _), .parser(_, _, let mark, _), .composer(_, _, let mark, _):
            Position(file: file, line: mark.line, column: mark.column)
        case .duplicatedKeysInMapping(_, let context):
            Position(file: file, line: context.mark.line, column: context.mark.column)
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
