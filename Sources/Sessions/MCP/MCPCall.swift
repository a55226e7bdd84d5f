import Foundation

/// One call of a tool: its process, and the answer. What may have text of devices is JSON.
struct MCPCall {
    let tools: MCPTools
    let arguments: MCPArguments
    let redaction: MCPRedaction
    let isCancelled: () -> Bool

    private var results: MCPResults { MCPResults(folder: tools.reports) }
    private var folder: [String] { tools.cases.map { ["--cases=\($0)"] } ?? [] }

    func answer(of tool: MCPTool) throws(MCPMistake) -> MCPAnswer {
        switch tool.name {
        case "list_devices": return document(of: try process(["devices", "--json"]))
        case "list_cases": return text(of: try process(["run", "--list", "--config=none"] + folder + arguments.places("cases")))
        case "explain_case": return text(of: try process(["explain"] + folder + arguments.places("case")))
        case "run_cases": return try runCases()
        case "read_result": return try results.read(arguments, redaction)
        case "show_capture": return try showCapture()
        case "explain_capture":
            let file = try file()
            return document(of: try process(["explain", "--json"] + (redaction.isOn ? [] : ["--keys"]) + ["--", file]))
        case "survey_product":
            let words = ["survey"] + (redaction.isOn ? ["--hide"] : []) + arguments.options("peer") + arguments.places("device")
            // The UUIDs of the description are as long as keys.
            let asPrinted = { (text: String) in text }
            return fields(of: try process(words), hiding: asPrinted) { ["description": $0] }
        default: throw MCPMistake(text: "there is no tool '\(tool.name)'")
        }
    }

    // MARK: Tools

    private func runCases() throws(MCPMistake) -> MCPAnswer {
        let name = results.newName()
        var words = ["run", "--config=none", "--report=\(results.path(name))", "--tester=\(arguments["tester"] ?? tools.tester)"] + folder
        if arguments["peer"] == nil || arguments["subject"] != nil { words.append("--subject=\(arguments["subject"] ?? tools.subject)") }
        words += arguments.options("peer", "seed") + arguments.places("cases")
        let run = try process(words)
        guard let summary = results.summary(name) else { return fields(of: run) { ["output": $0] } }
        return MCPAnswer(document: redaction.document(summary), isError: run.code > 1 && run.code != 3)
    }

    private func showCapture() throws(MCPMistake) -> MCPAnswer {
        let limit = arguments["limit"].flatMap { Int($0) } ?? 100
        guard (1...500).contains(limit) else { throw MCPMistake(text: "'limit' is a number from 1 to 500") }
        let words =
            ["show", "--width=400", "--limit=\(limit)"] + (redaction.isOn ? ["--hide"] : [])
            + arguments.options("from", "to", "connection", "layer", "where", "grep")
        let file = try file()
        return fields(of: try process(words + ["--", file]), hiding: withQuotes.text) {
            ["packets": $0.split(separator: "\n").map(String.init)]
        }
    }

    private func file() throws(MCPMistake) -> String {
        guard let file = arguments["file"] else { throw MCPMistake(text: "'file' is missing") }
        if let capture = results.capture(file) { return capture }
        guard file != "-", !file.hasPrefix("/dev/") else { throw MCPMistake(text: "'file' is a file, not a stream") }
        return file
    }

    // MARK: Processes

    private func process(_ words: [String]) throws(MCPMistake) -> BenchProcess.Outcome {
        let stop = tools.stop
        return try BenchProcess.run(
            words, BenchProcess.Limits(timeout: tools.timeout, isStopped: { stop.isRaised }, isCancelled: isCancelled))
    }

    /// Text of the bench's own files.
    private func text(of run: BenchProcess.Outcome) -> MCPAnswer {
        var text = withQuotes.text(run.output)
        if run.omitted > 0 { text += "\n(\(run.omitted) octets more)" }
        if run.code != 0, !run.errors.isEmpty { text += (text.isEmpty ? "" : "\n") + redaction.text(run.errors) }
        return MCPAnswer(text: text, isError: run.code != 0 && run.output.isEmpty)
    }

    /// The JSON document that a command prints.
    private func document(of run: BenchProcess.Outcome) -> MCPAnswer {
        guard run.omitted == 0, let value = try? JSONSerialization.jsonObject(with: Data(run.output.utf8)) else {
            return fields(of: run) { $0.isEmpty ? [:] : ["output": $0] }
        }
        return MCPAnswer(document: withQuotes.document(value))
    }

    private var withQuotes: MCPRedaction {
        var redaction = redaction
        redaction.hidesQuotes = false
        return redaction
    }

    /// The output of a command as fields, with its errors.
    ///
    /// - Parameter hide: what is left to hide in the output of a command that has hidden fields itself.
    private func fields(
        of run: BenchProcess.Outcome, hiding hide: ((String) -> String)? = nil, _ make: (String) -> [String: Any]
    ) -> MCPAnswer {
        var fields = make((hide ?? redaction.text)(run.output))
        if run.omitted > 0 { fields["omitted_octets"] = run.omitted }
        if run.code != 0, !run.errors.isEmpty { fields["error"] = redaction.text(run.errors) }
        return MCPAnswer(document: fields, isError: run.code != 0 && run.output.isEmpty)
    }
}
