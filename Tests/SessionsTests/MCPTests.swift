import Foundation
import Testing

@testable import BBSessions

/// Messages of clients of the Model Context Protocol, and what answers leave out. No tool is run.
struct MCPTests {
    private static func answers(_ message: String) throws -> [[String: Any]] {
        let tools = MCPTools(
            tester: "virtual", subject: "virtual", cases: nil, reports: URL(fileURLWithPath: "/nowhere"), timeout: 1,
            redaction: MCPRedaction(isOn: true), stop: MCPStop())
        var answers: [[UInt8]] = []
        MCPServer(tools: tools, version: "1.2.3") { answers.append($0) }.receive(Data(message.utf8))
        return try answers.map { try #require(JSONSerialization.jsonObject(with: Data($0)) as? [String: Any]) }
    }

    /// A message, and the code of the error; zero for a result, nil for no answer.
    @Test(
        arguments: [
            (#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#, 0),
            (#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#, 0), (#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#, 0),
            (#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, nil), (#"{"jsonrpc":"2.0","id":3,"method":"none"}"#, -32_601),
            (#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"none","arguments":{}}}"#, -32_602), ("{", -32_700),
            ("[]", -32_600),
        ] as [(String, Int?)])
    func aMessageHasItsAnswer(_ message: String, _ code: Int?) throws {
        let answers = try Self.answers(message)
        #expect(answers.count == (code == nil ? 0 : 1))
        guard let answer = answers.first, let code else { return }
        let error = answer["error"] as? [String: Any]
        #expect((error?["code"] as? Int ?? 0) == code && (answer["result"] != nil) == (code == 0), "\(answer)")
    }

    @Test func theServerNamesItsVersion() throws {
        let answer = try #require(try Self.answers(#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).first)
        let information = (answer["result"] as? [String: Any])?["serverInfo"] as? [String: Any]
        #expect(information?["version"] as? String == "1.2.3")
    }

    @Test(
        arguments: [
            ("device C0:B1:BE:00:00:01 left", ["C0:B1:BE:00:00:01"]), ("key 000102030405060708090A0B0C0D0E0F", ["0405060708"]),
        ] as [(String, [String])])
    func addressesAndKeysAreHidden(_ text: String, _ secrets: [String]) {
        let hidden = SecretFilter.hide(text, quotes: true, except: [])
        #expect(hidden.contains(SecretFilter.mark) && secrets.allSatisfy { !hidden.contains($0) }, "\(hidden)")
    }
}
