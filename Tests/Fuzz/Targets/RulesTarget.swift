import BBCases

@testable import BBDiagnosis

extension FuzzTarget {
    /// Any text as a rules file: it is valid, or its errors are reported with their positions.
    static let rules = FuzzTarget(
        name: "rules", layer: nil,
        seeds: { Seeds.files(below: "Sources/Diagnosis", ending: ".yaml", limit: 40_000) },
        run: { input in
            do {
                _ = try DiagnosisRule.read(String(decoding: input, as: UTF8.self), file: "own.yaml")
            } catch let problems as Problems {
                try promise(!problems.list.isEmpty, "no rules and no problem")
                try promise(problems.list.allSatisfy { $0.position.line >= 1 && $0.position.column >= 0 }, "a problem without a place")
                _ = problems.description
            }
        })
}
