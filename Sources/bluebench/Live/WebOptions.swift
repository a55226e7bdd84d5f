import ArgumentParser
import BBSessions
import BBTransport

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
    func token() throws -> String { try PageToken.text(file: tokenFile, host: host) }
}
