import BBDiagnosis
import Foundation

/// The rules for captures: the built-in ones, and those of files.
package enum RuleFiles {
    /// - Throws: a usage error with the mistakes of the files.
    package static func all(_ files: [String]) throws -> [DiagnosisRule] {
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
            throw CommandFailure(error)
        }
    }
}

/// The kind of a file.
package struct FileKind {
    package let isRegular: Bool

    package init(_ path: String) throws {
        isRegular =
            try URL(fileURLWithPath: path).resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey]).isRegularFile ?? false
    }
}
