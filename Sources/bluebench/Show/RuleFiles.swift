import BBDiagnosis
import Foundation

/// The rules for captures: the built-in ones, and those of files.
enum RuleFiles {
    /// - Throws: a usage error with the mistakes of the files.
    static func all(_ files: [String]) throws -> [DiagnosisRule] {
        do {
            var all = try DiagnosisRule.builtIn()
            for file in files {
                let own = try DiagnosisRule.load(file)
                // A rule with the id of a built-in one replaces it.
                all.removeAll { rule in own.contains { $0.id == rule.id } }
                all += own
            }
            return all
        } catch {
            throw CaseFolder.refusal(error)
        }
    }
}

/// The kind of a file.
struct FileKind {
    let isRegular: Bool

    init(_ path: String) throws {
        isRegular =
            try URL(fileURLWithPath: path).resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey]).isRegularFile ?? false
    }
}
