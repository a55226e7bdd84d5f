import ArgumentParser
import BBSessions
import BBTiming
import BBTransport
import BBTransportUSB
import BBVirtualDongle
import Foundation

/// `bluebench share`: offers a dongle to a program on another machine.
struct ShareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Serve the HCI of a dongle to another program or machine over TCP or a Unix socket.",
        discussion: """
            Serves H4 until Ctrl-C, for `bluebench run --tester tcp:HOST:PORT` or any program that takes HCI from a socket. One client at a time: the \
            dongle is opened when it connects, and reset and closed when it leaves. Clients on other machines need a token, in the variable \
            BLUEBENCH_TOKEN on both sides; their device is tcp:HOST:PORT,token.
            """)

    @Argument(help: .device) var device: String
    @Option(help: ArgumentHelp("Serve on a TCP port; 0 for a free one.", valueName: "port")) var tcp: UInt16?
    @Option(help: ArgumentHelp("Serve on a Unix socket, without a token.", valueName: "path"), completion: .file())
    var unix: String?
    @Option(help: "Address to listen on; one that other machines reach needs a token.") var host = "127.0.0.1"
    @Option(
        help: ArgumentHelp("File with the token that clients must present, also on this machine.", valueName: "file"), completion: .file())
    var tokenFile: String?
    @OptionGroup var firmware: FirmwareOptions

    func validate() throws {
        guard (tcp == nil) != (unix == nil) else { throw ValidationError("missing place to serve: give --tcp PORT or --unix PATH") }
        guard unix == nil || (!Arguments.given("--host") && tokenFile == nil) else {
            throw ValidationError("--host and --token-file need --tcp: access to a Unix socket follows from its folder's permissions")
        }
    }

    func run() throws {
        let signals = SignalHandler()
        let token = try readToken()
        let loop = BBTiming.RunLoop(mode: .wall)
        do {
            let selector = try DeviceSelector(device)
            guard selector != .virtual else { throw CommandFailure(.usage, "virtual dongles are served by `bluebench dongle`") }
            guard !selector.isInVirtualTime else {
                throw CommandFailure(
                    .usage, "share works in real time only: programs connect to the virtual time of \(selector) themselves")
            }
            let opener = try firmware.toolOpener()
            let shared = SharedDevice(on: loop) { try opener.device(selector, on: loop).transport }
            // Clients notice the end of their connection.
            shared.onTrouble = { Console.complain($0) }
            let first = try opener.device(selector, on: loop).transport
            // Opening blocks the loop; until here a signal ends the program at once.
            let ended = Promise<Void>(on: loop)
            signals.onStop(on: loop) { ended.fulfil(()) }
            let isReady = Result {
                try loop.run { try await ended.interrupts({ try await shared.check(first) }, on: loop) != nil }
            }
            defer { try? loop.run { await shared.leave() } }
            guard try isReady.get() else {
                throw CommandFailure(.bench, "stopped before \(selector) had answered HCI_Reset")
            }
            let server = H4DongleServer(backend: shared, on: loop)
            server.token = token
            server.onEvent = { Self.report($0) }
            let address = try server.offer(0, at: unix.map { .unix(path: $0) } ?? .tcp(host: host, port: tcp ?? 0))
            Console.line("\(address)\(token == nil ? "" : ",token") shares \(selector)")
            try loop.run { try await ended.value() }
            server.stop()
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Returns nil if only this machine can connect.
    private func readToken() throws -> AccessToken? {
        if let tokenFile {
            guard let text = try? String(contentsOfFile: tokenFile, encoding: .utf8), let token = AccessToken(text) else {
                throw CommandFailure(.usage, "--token-file \(tokenFile) has no token: one line of 16 to 200 visible characters")
            }
            return token
        }
        guard unix == nil, !LoopbackSocket.isLoopback(host) else { return nil }
        guard let text = ProcessInfo.processInfo.environment[AccessToken.variable], let token = AccessToken(text) else {
            throw CommandFailure(
                .usage,
                "others reach \(host): a token of 16 to 200 visible characters is needed, in --token-file FILE or the variable \(AccessToken.variable)"
            )
        }
        return token
    }

    private static func report(_ event: DongleEvent) {
        switch event {
        case .attached: Console.line("a client came")
        case .left: Console.line("the client left")
        case .refused: Console.complain("in use: another client was refused")
        case .failed(_, let reason): Console.complain(reason)
        }
    }
}
