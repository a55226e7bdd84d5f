import ArgumentParser
import BBBluetoothCrypto
import BBPackets
import BBTransport
import Foundation

/// The options for the page of a capture.
struct WebOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Show the packets in a page for browsers, on a TCP port; 0 for a free one.", valueName: "port"))
    var web: UInt16?
    @Option(help: ArgumentHelp("With --web: address to listen on; one that other machines reach needs a token.", valueName: "host"))
    var webHost: String?
    @Option(
        help: ArgumentHelp(
            "With --web: file with the token of the page's address. Default: \(AccessToken.variable), or a new one.", valueName: "file"),
        completion: .file())
    var tokenFile: String?

    func validate() throws {
        if web == nil, webHost != nil || tokenFile != nil { throw ValidationError("--web-host and --token-file need --web PORT") }
    }

    var host: String { webHost ?? "127.0.0.1" }

    /// The token of the page: a given one, or on this machine a new one.
    func token() throws -> String {
        if let tokenFile {
            let text = (try? String(contentsOfFile: tokenFile, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
            guard let text, AccessToken(text) != nil, Self.fitsAddress(text) else {
                throw CommandFailure(.usage, "--token-file \(tokenFile) has no token: one line of 16 to 200 letters, digits, - and _")
            }
            return text
        }
        if let text = ProcessInfo.processInfo.environment[AccessToken.variable], AccessToken(text) != nil, Self.fitsAddress(text) {
            return text
        }
        guard ShareCommand.isLoopback(host) else {
            throw CommandFailure(
                .usage,
                "others reach \(host): a token of 16 to 200 letters, digits, - and _ is needed, in --token-file FILE or the variable \(AccessToken.variable)"
            )
        }
        var source = SecretSource.system
        return source.octets(16).map { Hex.number(UInt64($0), bits: 8).dropFirst(2).lowercased() }.joined()
    }

    private static func fitsAddress(_ text: String) -> Bool {
        text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }
}
