import BBPackets
import Foundation

@testable import BBSessions

extension FuzzTarget {
    /// A line of a client of the Model Context Protocol: at most one answer, which is a message of JSON-RPC 2.0 and ends its line. Tools get
    /// checked arguments, and are not run here.
    static let modelContext = FuzzTarget(
        name: "mcp", layer: nil, isText: true, seeds: { messages.map { Array($0.utf8) } },
        run: { input in
            let tools = MCPTools(
                tester: "virtual", subject: "virtual", cases: nil, reports: URL(fileURLWithPath: "/nowhere"), timeout: 1,
                redaction: MCPRedaction(isOn: true), stop: MCPStop())
            var answers: [[UInt8]] = []
            let server = MCPServer(tools: tools, version: "1") { answers.append($0) }
            guard !(try runsTool(input)) else { return }
            server.receive(Data(input))
            try promise(answers.count <= 1, "\(answers.count) answers")
            for answer in answers {
                try promise(answer.last == 0x0A && answer.count(where: { $0 == 0x0A }) == 1, "an answer is not one line")
                let message = try JSONSerialization.jsonObject(with: Data(answer)) as? [String: Any]
                try promise(message?["jsonrpc"] as? String == "2.0" && message?["id"] != nil, "not an answer")
            }
        })

    /// Checks the arguments of a call that would start a process; false for other messages.
    private static func runsTool(_ input: [UInt8]) throws -> Bool {
        guard let message = (try? JSONSerialization.jsonObject(with: Data(input))) as? [String: Any],
            message["method"] as? String == "tools/call", let parameters = message["params"] as? [String: Any],
            let name = parameters["name"] as? String, let tool = MCPTools.all.first(where: { $0.name == name })
        else { return false }
        guard let arguments = try? tool.read(parameters["arguments"] as? [String: Any] ?? [:]) else { return false }
        for (name, values) in arguments {
            try promise(tool.arguments.contains { $0.name == name }, "'\(name)' is no argument")
            for value in values { _ = SecretFilter.hide(value, quotes: true, except: []) }
        }
        return true
    }

    private static let messages = [
        #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#,
        #"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#, #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        #"{"jsonrpc":"2.0","id":1e400,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        #"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"show_capture","arguments":{"file":"a","limit":100,"where":"b"}}}"#,
        #"{"jsonrpc":"2.0","id":2.5,"method":"tools/call","params":{"name":"run_cases","arguments":{"cases":["phy"],"seed":18446744073709551615}}}"#,
        #"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"none","arguments":[]}}"#,
        #"[{"jsonrpc":"2.0","id":4,"method":"ping"}]"#,
    ]
}
