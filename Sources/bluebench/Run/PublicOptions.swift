import ArgumentParser
import BBCases
import BBConformance
import BBSessions
import Foundation

/// The options about public test cases, for those who qualify a product.
struct PublicOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Implementation conformance statement: lines TSPC_GATT_3_1 TRUE, a workspace of PTS, or public test-case ids. Only cases that cover an id; what it rules out is N/A.",
            valueName: "file"), completion: .file())
    var ics: String?
    @Option(
        help: ArgumentHelp(
            "Failures that do not fail the run: lines with the id of a case or of a public test case, and the reason. One that passes fails the run.",
            valueName: "file", visibility: .hidden), completion: .file())
    var expectedFailures: String?

    /// Adds the expected failures to the plan.
    func expect(in plan: inout RunPlan, _ selection: PublicSelection, cases folder: String) throws {
        guard let expectedFailures else { return }
        do {
            let entries = try ExpectedFailureList.load(expectedFailures)
            try plan.expect(entries, selection.tests) { id in
                [folder, CaseFolder.standard].contains { FileManager.default.fileExists(atPath: "\($0)/\(id).yaml") }
            }
        } catch {
            throw CommandFailure(error)
        }
    }
}
