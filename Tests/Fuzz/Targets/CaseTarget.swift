@testable import BBCases
@testable import BBConformance

extension FuzzTarget {
    /// Any text as a case file: it is a valid case, or its errors are reported with their positions.
    static let cases = FuzzTarget(
        name: "cases", layer: nil,
        seeds: { Seeds.files(below: "Conformance", ending: ".yaml", limit: 4_000) },
        run: { input in
            let text = String(decoding: input, as: UTF8.self)
            for isProcedure in [false, true] {
                var reader = SourceReader(file: "case.yaml", vocabulary: vocabulary)
                guard let root = reader.compose(text) else {
                    try promise(!reader.problems.isEmpty, "no case and no problem")
                    return
                }
                let isRead = isProcedure ? reader.procedure(root, name: "p") != nil : reader.testCase(root, id: "fuzz/case") != nil
                try promise(isRead || !reader.problems.isEmpty, "no case and no problem")
                try promise(reader.problems.allSatisfy { $0.position.line >= 1 && $0.position.column >= 0 }, "a problem without a place")
                _ = reader.problems.map { "\($0)" }
            }
        })

    private static let vocabulary = Vocabulary.declared(covers: ["HCI/DSU/BV-02-C", "LL/CON/PER/BV-40-C"])
}
