import Capture
import Host
import Packets
import Simulation
import Timing
import Transport

/// A foreign subject that brings its own host: it connects to a simulated controller on a socket and is found over the simulated air, in real time.
public final class ListeningSubject {
    public let bench: ThroughputBench
    /// Where the subject may connect; the port is the one the system chose when 0 was asked for.
    public var address: SocketAddress { listener.address }

    private let simulation: Simulation
    private let subject: ControllerConfiguration
    private let listener: SocketListener
    private let arrival: Promise<Void>
    private let loop: RunLoop
    private let capture: CaptureLog?

    /// - Parameter capture: takes the packets of both hosts.
    /// - Throws: `TransportError.busy` when the port is taken.
    public init(_ settings: VirtualPair.Settings, listeningOn address: SocketAddress, loop: RunLoop, capture: CaptureLog? = nil) throws {
        self.capture = capture
        self.loop = loop
        subject = settings.subject
        let simulation = Simulation(loop: loop, seed: settings.seed)
        self.simulation = simulation
        arrival = Promise(on: loop)
        listener = try SocketListener(address, on: loop)
        let pipe = InProcessTransport.pair(on: loop)
        let identifier = try simulation.addController(settings.tester, on: pipe.controller)
        var transport: any HCITransport = pipe.host
        if let capture { transport = CaptureTransport(transport, into: capture, interface: try capture.addController("tester"), on: loop) }
        let host = Host(loop: loop, transport: transport, database: GATTDatabase(deviceName: "tester"), seed: settings.seed)
        let end = ThroughputBench.End(host: host) { handle in
            simulation.statistics(of: handle, on: identifier).map(LinkCounters.init)
        }
        bench = ThroughputBench(loop: loop, tester: end, subject: nil)
        listener.start { [self] stream in accept(stream) }
    }

    /// Waits until a host has connected.
    public func arrived(within patience: Microseconds) async throws {
        do {
            try await arrival.value(until: loop.now + patience)
        } catch is TimeOut {
            throw TransportError.unreachable("a subject: no host connected to \(address) within \(patience.seconds) s")
        }
    }

    private func accept(_ stream: ByteStream) {
        var transport: any HCITransport = H4Transport(stream)
        do {
            if let capture {
                let interface = try capture.addController("subject")
                transport = CaptureTransport(transport, into: capture, interface: interface, heldBy: .controller, on: loop)
            }
            _ = try simulation.addController(subject, on: transport)
            arrival.fulfil(())
        } catch {
            stream.close()
        }
    }
}
