import ArgumentParser
import BBConformance
import BBProducts
import BBSessions
import BBTransport
import Foundation

/// `bluebench mcp`: offers the bench to a program that speaks the Model Context Protocol.
struct MCPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mcp", abstract: "Serve the bench to assistants over the Model Context Protocol (MCP).",
        discussion: """
            Speaks JSON-RPC in lines on standard input and output until the input ends. Tools list devices, run cases, read their results with \
            evidence, show and explain captures, and survey a product. Answers are bounded. Text of devices is in JSON. Addresses, names, keys and \
            long values are left out without --keys. A signal ends the server and the tool that runs.
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
        let signals = SignalHandler()
        let folder = try reportFolder()
        let (stop, temporary) = (MCPStop(), reports == nil ? folder : nil)
        let clear: @Sendable () -> Void = { if let temporary { try? FileManager.default.removeItem(at: temporary) } }
        defer { clear() }
        signals.onStop {
            stop.raise()
            // The main thread ends the process, unless it waits for a client that reads no answers.
            _ = poll(nil, 0, Self.timeToEnd)
            ProcessGroup.killAll()
            clear()
            _exit(0)
        }
        let tools = MCPTools(
            tester: tester, subject: subject, cases: Arguments.given("--cases") ? cases : nil, reports: folder, timeout: timeout,
            redaction: MCPRedaction(isOn: !keys), stop: stop)
        try MCPServer(tools: tools, version: Bluebench.version) { Console.write(utf8: $0) }.run()
    }

    /// Milliseconds after a signal in which the server ends in an orderly way.
    private static let timeToEnd: Int32 = 1_700

    /// The folder of the reports. A temporary one is made by the system, so that no other user can own or foresee it.
    private func reportFolder() throws -> URL {
        guard let reports else {
            var path = Array("\(NSTemporaryDirectory())/bluebench-mcp-XXXXXX".utf8CString)
            guard let made = mkdtemp(&path) else { throw CommandFailure(.bench, "cannot make a temporary folder: \(systemText(errno))") }
            return URL(fileURLWithPath: String(cString: made))
        }
        let folder = URL(fileURLWithPath: reports)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.usage, "cannot make the folder \(folder.path): \(systemReason(error))")
        }
        return folder
    }
}
