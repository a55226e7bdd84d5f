import Foundation

/// The tools of the Model Context Protocol server. Each runs a command of this program as a process of its own.
struct MCPTools {
    let tester: String
    let subject: String
    /// The folder of the cases; nil for the standard one.
    let cases: String?
    /// The folder of the reports.
    let reports: URL
    /// Seconds.
    let timeout: Int
    let showsSecrets: Bool

    static let instructions = """
        Bluebench tests Bluetooth devices. list_cases and explain_case show what can be tested; run_cases runs cases, by default between two simulated \
        devices, and names a result; read_result shows a case of it with its evidence, whose packet numbers show_capture takes. explain_capture says \
        what went wrong in a capture.
        """

    static let all: [MCPTool] = [
        MCPTool(
            name: "list_devices",
            about: "List the USB Bluetooth dongles of this machine, as JSON: chip, features, what prevents their use.",
            arguments: []),
        MCPTool(
            name: "list_cases", about: "List cases with their titles.",
            arguments: [.init(name: "cases", kind: .list, about: "suites or cases, as phy or gatt/mtu-exchange; default: all")]),
        MCPTool(
            name: "explain_case", about: "Describe a case: purpose, section of the specification, steps.",
            arguments: [.init(name: "case", kind: .string, about: "the case, as phy/central-asks-2m", isRequired: true)]),
        MCPTool(
            name: "run_cases", about: "Run cases, and summarise their verdicts. The answer names the result for read_result.",
            arguments: [
                .init(name: "cases", kind: .list, about: "suites or cases, as phy or gatt/mtu-exchange", isRequired: true),
                .init(name: "tester", kind: .string, about: "tester device: virtual, usb:BUS-PORT, tcp:HOST:PORT"),
                .init(name: "subject", kind: .string, about: "device under test, as the tester; air with peer"),
                .init(name: "peer", kind: .string, about: "a product over the air: its name, address, or a service UUID"),
                .init(name: "seed", kind: .integer, about: "seed of every random choice"),
            ], isReadOnly: false),
        MCPTool(
            name: "read_result",
            about: "Read a case of a result: verdict, expected and received values, evidence with packet numbers, steps.",
            arguments: [
                .init(name: "result", kind: .string, about: "the name that run_cases gave", isRequired: true),
                .init(name: "case", kind: .string, about: "the case, as phy/central-asks-2m; default: the summary"),
            ]),
        MCPTool(
            name: "show_capture", about: "Decode packets of a capture: btsnoop, pcapng, pcap, PacketLogger, hcidump; one line for each.",
            arguments: capture + [
                .init(name: "from", kind: .string, about: "first packet, or time since the first: 120, 3.5s"),
                .init(name: "to", kind: .string, about: "last packet, or time"),
                .init(name: "connection", kind: .string, about: "a connection handle as 0x0040, or access address on the air"),
                .init(name: "layer", kind: .string, about: "layers, separated by commas: command, event, att, smp, l2cap, ll"),
                .init(name: "where", kind: .string, about: "a condition, as: ATT_ERROR_RSP or Status != Success"),
                .init(name: "grep", kind: .string, about: "a regular expression for lines"),
                .init(name: "limit", kind: .integer, about: "number of lines, 1 to 500; default 100"),
            ]),
        MCPTool(
            name: "explain_capture",
            about: "Say what happened in a capture and what went wrong, with rules, sections and packets, per connection, as JSON.",
            arguments: capture),
        MCPTool(
            name: "survey_product",
            about: "Connect to a product over the air and describe its services, as YAML. Nothing is written to it.",
            arguments: [
                .init(name: "device", kind: .string, about: "the dongle: usb:BUS-PORT, tcp:HOST:PORT", isRequired: true),
                .init(name: "peer", kind: .string, about: "the product: its name, address, or a service UUID", isRequired: true),
            ], isReadOnly: false),
    ]

    private static let capture = [
        MCPTool.Argument(name: "file", kind: .string, about: "path of a capture, or the name of a result", isRequired: true)
    ]

    /// - Parameter cancelled: true if the request was withdrawn.
    func call(_ tool: MCPTool, _ arguments: [String: [String]], unless cancelled: () -> Bool) throws(MCPMistake) -> MCPAnswer {
        let arguments = MCPArguments(values: arguments)
        let folder = cases.map { ["--cases=\($0)"] } ?? []
        switch tool.name {
        case "list_devices": return try bench(["devices", "--json"], unless: cancelled)
        case "list_cases": return try bench(["run", "--list"] + folder + arguments.places("cases"), unless: cancelled)
        case "explain_case": return try bench(["explain"] + folder + arguments.places("case"), unless: cancelled)
        case "run_cases": return try runCases(arguments, folder, cancelled)
        case "read_result": return try MCPResults(folder: reports).read(arguments, hide)
        case "show_capture": return try showCapture(arguments, cancelled)
        case "explain_capture":
            let file = try file(arguments)
            return try bench(["explain", "--json"] + (showsSecrets ? ["--keys"] : []) + ["--", file], unless: cancelled)
        case "survey_product":
            return try bench(["survey"] + arguments.options("peer") + arguments.places("device"), unless: cancelled)
        default: throw MCPMistake(text: "there is no tool '\(tool.name)'")
        }
    }

    // MARK: Tools

    private func runCases(_ arguments: MCPArguments, _ folder: [String], _ cancelled: () -> Bool) throws(MCPMistake) -> MCPAnswer {
        let results = MCPResults(folder: reports)
        let name = results.newName()
        var words = ["run", "--report=\(results.path(name))", "--tester=\(arguments["tester"] ?? tester)"] + folder
        if arguments["peer"] == nil || arguments["subject"] != nil { words.append("--subject=\(arguments["subject"] ?? subject)") }
        words += arguments.options("peer", "seed") + arguments.places("cases")
        let run = try process(words, cancelled)
        guard let summary = results.summary(name) else { return answer(run) }
        return MCPAnswer(text: bounded(hide(summary)), isError: run.code > 1 && run.code != 3)
    }

    private func showCapture(_ arguments: MCPArguments, _ cancelled: () -> Bool) throws(MCPMistake) -> MCPAnswer {
        let limit = arguments["limit"].flatMap { Int($0) } ?? 100
        guard (1...500).contains(limit) else { throw MCPMistake(text: "'limit' is a number from 1 to 500") }
        let words =
            ["show", "--width=400", "--limit=\(limit)"] + (showsSecrets ? [] : ["--hide"])
            + arguments.options("from", "to", "connection", "layer", "where", "grep")
        let file = try file(arguments)
        var answer = try bench(words + ["--", file], unless: cancelled)
        if answer.text.isEmpty { answer.text = "no packet is selected" }
        return answer
    }

    private func file(_ arguments: MCPArguments) throws(MCPMistake) -> String {
        guard let file = arguments["file"] else { throw MCPMistake(text: "'file' is missing") }
        if let capture = MCPResults(folder: reports).capture(file) { return capture }
        guard file != "-", !file.hasPrefix("/dev/") else { throw MCPMistake(text: "'file' is a file, not a stream") }
        return file
    }

    // MARK: Processes

    private func bench(_ words: [String], unless cancelled: () -> Bool) throws(MCPMistake) -> MCPAnswer {
        answer(try process(words, cancelled))
    }

    private func process(_ words: [String], _ cancelled: () -> Bool) throws(MCPMistake) -> BenchProcess.Outcome {
        try BenchProcess.run(words, timeout: timeout, unless: cancelled)
    }

    private func answer(_ run: BenchProcess.Outcome) -> MCPAnswer {
        let isError = run.code != 0 && run.output.isEmpty
        var text = bounded(hide(run.output))
        if run.omitted > 0 { text += "\n(\(run.omitted) octets more)" }
        if run.code != 0, !run.errors.isEmpty { text += (text.isEmpty ? "" : "\n") + bounded(hide(run.errors)) }
        return MCPAnswer(text: text, isError: isError)
    }

    private static let longest = 60_000

    private func bounded(_ text: String) -> String {
        guard text.utf8.count > Self.longest else { return text }
        return String(decoding: text.utf8.prefix(Self.longest), as: UTF8.self) + "\n(cut; select less)"
    }

    private func hide(_ text: String) -> String { showsSecrets ? text : SecretFilter.hide(text) }
}

/// Arguments of a call as words of a command line. Values never become options.
struct MCPArguments {
    var values: [String: [String]]

    subscript(name: String) -> String? { values[name]?.first }

    func options(_ names: String...) -> [String] { names.flatMap { name in (values[name] ?? []).map { "--\(name)=\($0)" } } }

    func places(_ name: String) -> [String] { ["--"] + (values[name] ?? []) }
}
