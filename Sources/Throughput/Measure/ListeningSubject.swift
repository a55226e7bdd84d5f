import BBCapture
import BBPackets
import BBSimulation
import BBTiming
import BBTransport

/// A foreign subject with its own host, which connects to a simulated controller through a socket and is used over the simulated air in
/// real time.
public final class ListeningSubject {
    public let bench: ThroughputBench
    /// Address for the subject to connect to, with the actual port if port 0 was given.
    public var address: SocketAddress { listener.address }
    private let listener: H4Listener

    /// - Parameter capture: receives the packets of both hosts.
    /// - Throws: `TransportError.busy` if the port is in use.
    public init(_ settings: VirtualPair.Settings, listeningOn address: SocketAddress, loop: RunLoop, capture: CaptureLog? = nil) throws {
        let simulation = Simulation(loop: loop, seed: settings.seed)
        listener = try H4Listener(address, on: loop) { pipe in
            let transport = try pipe.captured(into: capture, as: "subject", heldBy: .controller, on: loop)
            try simulation.addController(settings.subject, on: transport)
        }
        bench = ThroughputBench(
            loop: loop, tester: try .simulated("tester", settings.tester, in: simulation, settings, capture: capture, on: loop),
            subject: nil)
    }

    /// Waits until a host has connected.
    public func arrived(within timeOut: Microseconds) async throws { try await listener.waitForHost(as: "a subject", within: timeOut) }
}
