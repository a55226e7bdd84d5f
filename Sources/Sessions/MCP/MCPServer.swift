import Foundation

/// A server of the Model Context Protocol over standard input and output: a JSON-RPC message in each line.
package final class MCPServer {
    /// Versions of the protocol that this server speaks, the newest first.
    private static let versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    /// Error codes of JSON-RPC 2.0, 5.1.
    private enum Code: Int {
        case parseError = -32700
        case invalidRequest = -32600
        case methodNotFound = -32601
        case invalidParameters = -32602
    }

    private struct Failure: Error {
        var code: Code
        var message: String
    }

    private let tools: MCPTools
    private let version: String
    private let input: LineInput
    /// Takes each message for the client, a line.
    private let output: ([UInt8]) -> Void

    /// - Parameters:
    ///   - version: that of the program.
    ///   - output: takes each message for the client, a line.
    package init(tools: MCPTools, version: String, output: @escaping ([UInt8]) -> Void) {
        (self.tools, self.version, self.output) = (tools, version, output)
        input = LineInput(until: tools.stop)
    }

    /// Serves until the input ends, or until a signal.
    package func run() throws {
        while let line = input.next() {
            switch line {
            case .tooLong: reply(id: NSNull(), failure: Failure(code: .invalidRequest, message: "a message has at most 1 MiB"))
            case .text(let text): if !text.isEmpty { receive(text) }
            }
        }
    }

    /// Takes a line of the client.
    func receive(_ text: Data) {
        guard let message = try? JSONSerialization.jsonObject(with: text) else {
            return reply(id: NSNull(), failure: Failure(code: .parseError, message: "not JSON"))
        }
        guard let request = message as? [String: Any], request["jsonrpc"] as? String == "2.0" else {
            return reply(id: NSNull(), failure: Failure(code: .invalidRequest, message: "not a message of JSON-RPC 2.0"))
        }
        // Notifications have no answer; responses answer nothing that this server has asked.
        guard let id = request["id"], !(id is NSNull) else { return }
        guard id is String || id is NSNumber, let method = request["method"] as? String else {
            if request["result"] != nil || request["error"] != nil { return }
            return reply(id: NSNull(), failure: Failure(code: .invalidRequest, message: "a request has a method and an id"))
        }
        do throws(Failure) {
            let result = try result(method, request["params"] as? [String: Any] ?? [:], id)
            if let result { reply(id: id, ["result": result]) }
        } catch {
            reply(id: id, failure: error)
        }
    }

    /// Returns nil for a request that was withdrawn.
    private func result(_ method: String, _ parameters: [String: Any], _ id: Any) throws(Failure) -> [String: Any]? {
        switch method {
        case "initialize": return initialize(parameters)
        case "ping": return [:]
        case "tools/list": return ["tools": MCPTools.all.map(\.description)]
        case "tools/call": return try call(parameters, id)
        default: throw Failure(code: .methodNotFound, message: "there is no method '\(method)'")
        }
    }

    private func initialize(_ parameters: [String: Any]) -> [String: Any] {
        let asked = parameters["protocolVersion"] as? String ?? ""
        return [
            "protocolVersion": Self.versions.contains(asked) ? asked : Self.versions[0],
            "capabilities": ["tools": ["listChanged": false]],
            "serverInfo": ["name": "bluebench", "title": "Bluebench", "version": version],
            "instructions": MCPTools.instructions,
        ]
    }

    private func call(_ parameters: [String: Any], _ id: Any) throws(Failure) -> [String: Any]? {
        guard let name = parameters["name"] as? String, let tool = MCPTools.all.first(where: { $0.name == name }) else {
            throw Failure(
                code: .invalidParameters,
                message: "there is no such tool; there are \(MCPTools.all.map(\.name).joined(separator: ", "))")
        }
        let answer: MCPAnswer
        do throws(MCPMistake) {
            let arguments = try tool.read(parameters["arguments"] as? [String: Any] ?? [:])
            answer = try tools.call(tool, arguments, unless: { [input] in input.isCancelled(id) })
        } catch {
            if error.isCancelled { return nil }
            // A tool's mistakes are results, so that the model reads them.
            answer = MCPAnswer(text: error.text, isError: true)
        }
        return ["content": [["type": "text", "text": answer.text]], "isError": answer.isError]
    }

    // MARK: Answers

    private func reply(id: Any, failure: Failure) {
        reply(id: id, ["error": ["code": failure.code.rawValue, "message": failure.message] as [String: Any]])
    }

    private func reply(id: Any, _ content: [String: Any]) {
        let message = content.merging(["jsonrpc": "2.0", "id": id]) { $1 }
        guard let data = try? JSONSerialization.data(withJSONObject: message, options: [.sortedKeys, .withoutEscapingSlashes]) else {
            return
        }
        output([UInt8](data) + [UInt8(ascii: "\n")])
    }
}
