import ArgumentParser
import Foundation

/// `bluebench mcp`: offers the bench to a program that speaks the Model Context Protocol.
struct MCPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mcp", abstract: "Serve the bench to assistants over the Model Context Protocol (MCP).",
        discussion: """
            Speaks JSON-RPC in lines on standard input and output until the input ends. Tools list devices, run cases, read their results with \
            evidence, show and explain captures, and survey a product. Answers are bounded. Addresses, names, keys and long values are left out \
            without --keys.
            """)

    @Option(help: ArgumentHelp("Tester device of runs that name none.", valueName: "device"), completion: Completions.devices)
    var tester = "virtual"
    @Option(help: ArgumentHelp("Device under test of runs that name none.", valueName: "device"), completion: Completions.devices)
    var subject = "virtual"
    @Option(help: ArgumentHelp("Folder of the cases.", valueName: "folder"), completion: .directory) var cases = CaseFolder.standard
    @Option(
        help: ArgumentHelp("Folder for the reports of runs. Default: a temporary one, removed at the end.", valueName: "folder"),
        completion: .directory)
    var reports: String?
    @Option(help: ArgumentHelp("Longest duration of a tool.", valueName: "s"), transform: Arguments.whole(1...86_400)) var timeout = 600
    @Flag(help: "Show addresses, names, keys and long values.") var keys = false

    func run() throws {
        let folder = URL(fileURLWithPath: reports ?? NSTemporaryDirectory() + "bluebench-mcp-\(getpid())")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.usage, "cannot make the folder \(folder.path): \(error.localizedDescription)")
        }
        defer { if reports == nil { try? FileManager.default.removeItem(at: folder) } }
        let tools = MCPTools(
            tester: tester, subject: subject, cases: Arguments.given("--cases") ? cases : nil, reports: folder, timeout: timeout,
            showsSecrets: keys)
        try MCPServer(tools: tools).run()
    }
}
