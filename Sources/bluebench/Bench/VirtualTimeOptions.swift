import ArgumentParser
import BBTiming
import BBTransport

/// Options for virtual time that foreign hosts share.
struct VirtualTimeOptions: ParsableArguments {
    @Flag(help: "Share virtual time with the hosts that connect: docs/design/virtual-time.md.") var virtualTime = false
    @Option(
        help: ArgumentHelp(
            "With --virtual-time: end the run if a host is neither idle nor sends anything for this time: 60. 10 by default.",
            valueName: "s"),
        transform: Arguments.whole(1...86_400))
    var clientTimeout: Int?

    var limits: VirtualTimeLimits {
        var limits = VirtualTimeLimits()
        if let clientTimeout { limits.clientTimeout = .seconds(clientTimeout) }
        return limits
    }

    func check() throws {
        guard !Arguments.given("--client-timeout") || virtualTime else {
            throw CommandFailure(.usage, "--client-timeout needs --virtual-time")
        }
    }

    func makeLoop() -> BBTiming.RunLoop { BBTiming.RunLoop(mode: virtualTime ? .virtual : .wall, watchesDescriptors: true) }
}
