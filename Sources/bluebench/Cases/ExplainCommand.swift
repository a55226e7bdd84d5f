import ArgumentParser
import BBCapture
import BBCases
import BBConformance
import BBDiagnosis
import BBSessions

/// `bluebench explain`: describes a case or an error code, or says what went wrong in a capture.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Describe a case or an error code, or say what happened in a capture and what went wrong.",
        discussion: """
            A capture is any file that `show` opens. The explanation names each finding with its rule, section and packets, and describes each \
            connection. Addresses, names and keys are left out without --keys. A number, as 0x22, 133 or -110, is an error code: of the Core \
            Specification, NimBLE, Android, Linux, Core Bluetooth, nRF or Zephyr.
            """)

    @Argument(
        help: ArgumentHelp("Case, as phy/central-asks-2m, capture file, or error code, as 0x22.", valueName: "case, capture or code"),
        completion: Completions.cases)
    var subject: String
    @Option(help: ArgumentHelp("Folder of the cases.", valueName: "folder"), completion: .directory) var cases = CaseFolder.standard

    @Flag(help: "Case: print a message sequence chart.") var sequence = false
    @Flag(help: "Case: print the chart for Mermaid, which GitHub and many wikis draw.") var mermaid = false

    @Option(
        help: ArgumentHelp("Capture: rules besides the built-in ones; may be repeated.", valueName: "file"), completion: .file())
    var rules: [String] = []
    @Flag(help: "Capture: print JSON.") var json = false
    @Flag(help: "Capture: print addresses, names and keys.") var keys = false
    @Flag(help: "Capture of a run: also print what its tester provoked.") var provoked = false

    func validate() throws {
        if sequence, mermaid { throw ValidationError("--sequence and --mermaid exclude each other") }
    }

    func run() throws {
        if CaptureReader.isFile(subject), !subject.hasSuffix(".yaml") { return try explainCapture() }
        if json || keys || provoked || !rules.isEmpty {
            throw CommandFailure(.usage, "cannot open \(subject); --rules, --json, --keys and --provoked need a capture")
        }
        if let code = CodeTable.number(subject) { return try explainCode(code) }
        try explainCase()
    }

    private func explainCode(_ code: Int) throws {
        if sequence || mermaid { throw CommandFailure(.usage, "--sequence and --mermaid need a case, and \(subject) is a code") }
        guard let text = try CodeTable.builtIn().text(of: code) else {
            throw CommandFailure(.usage, "\(subject) is not an error code of \(CodeTable.stackNames)")
        }
        Console.write(text)
    }

    private func explainCapture() throws {
        if sequence || mermaid { throw CommandFailure(.usage, "--sequence and --mermaid need a case, and \(subject) is a file") }
        let reader: CaptureReader
        do { reader = try CaptureReader(path: subject) } catch { throw CommandFailure(.usage, "\(error)") }
        var examiner = Examiner(rules: try RuleFiles.all(rules), showsSecrets: keys)
        if let remark = reader.remark { Console.complain(remark) }
        var failure: CaptureError?
        var contents = Contents()
        do {
            // The bench names the interfaces of its ends.
            var isFirst = true
            while let record = try reader.next() {
                if isFirst { examiner.isOfBench = reader.interfaces.contains { $0.name == "tester" } }
                isFirst = false
                contents.note(record.content)
                examiner.examine(record)
            }
        } catch {
            failure = error
        }
        var diagnosis = examiner.finish(failure)
        if !provoked, examiner.isOfBench { diagnosis.leaveOutProvoked() }
        if let lack = contents.lack { throw CommandFailure(.usage, failure.map { "\($0)" } ?? "\(subject) \(lack)") }
        Console.write(try (json ? diagnosis.json() : diagnosis.text) + "\n")
        if let failure { throw CommandFailure(.bench, "\(failure)") }
    }

    private func explainCase() throws {
        let catalogue = try CaseFolder.load(cases, matching: [subject])
        guard let text = CaseExplanation.text(of: subject, in: catalogue) else {
            throw CommandFailure(
                .usage, "there is no case '\(subject)' and no file\(CaseExplanation.suggestion(for: subject, in: catalogue))")
        }
        guard sequence || mermaid else { return Console.line(text) }
        guard let chart = CaseExplanation.sequence(of: subject, in: catalogue) else {
            throw CommandFailure(.usage, "'\(subject)' matches several cases: name one for --sequence or --mermaid")
        }
        Console.line(mermaid ? chart.mermaid : chart.text)
    }
}
