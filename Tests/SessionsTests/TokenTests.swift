import BBTransport
import Testing

@testable import BBSessions

/// The token of a page, and addresses of this machine.
struct TokenTests {
    private static let given = "abcdefghij-0123456789"

    @Test(
        arguments: [
            (given, nil, "0.0.0.0", given), (" \(given)\n", nil, "127.0.0.1", given), ("short", nil, "127.0.0.1", nil),
            ("with a blank in the token", nil, "127.0.0.1", nil), (nil, given, "0.0.0.0", given), (nil, "short", "0.0.0.0", nil),
            (nil, nil, "0.0.0.0", nil), (nil, nil, "::", nil),
        ] as [(String?, String?, String, String?)])
    func aTokenIsGivenOrRefused(_ file: String?, _ variable: String?, _ host: String, _ token: String?) throws {
        try withFolder(["token": file ?? ""]) { folder in
            let environment = variable.map { [AccessToken.variable: $0] } ?? [:]
            let found = try? PageToken.text(file: file.map { _ in "\(folder)/token" }, host: host, environment: environment)
            #expect(found == token)
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "::1", "127.9.9.9"]) func aPageOfThisMachineGetsANewToken(_ host: String) throws {
        let tokens = try (0..<2).map { _ in try PageToken.text(file: nil, host: host, environment: [:]) }
        #expect(tokens[0] != tokens[1] && tokens.allSatisfy { $0.count == 32 && AccessToken($0) != nil })
    }

    @Test(
        arguments: [
            ("127.0.0.1:8080", 8_080), ("localhost:1", 1), ("127.0.0.1:0", nil), ("10.0.0.1:80", nil), ("8080", nil),
            ("localhost:99999", nil),
        ] as [(String, UInt16?)])
    func onlyThisMachineIsConnectedTo(_ text: String, _ port: UInt16?) { #expect(LoopbackSocket.port(text) == port) }
}
