import Packets
import Timing
import Transport

/// A virtual controller served to a foreign host: the accessory under test uses its own stack, and the tester reaches it on the simulated
/// air.
/// There is one world in real time for the whole run.
public final class SubjectPort {
    public let loop = RunLoop(mode: .wall)
    let world: SimulatedWorld
    private let listener: H4Listener
    /// Monitors the foreign host.
    let watch: HostWatch
    public var address: SocketAddress { listener.address }

    /// Listens for the foreign host.
    ///
    /// - Throws: `TransportError.busy` if the port is in use.
    public init(_ address: SocketAddress, seed: UInt64) throws(TransportError) {
        let world = SimulatedWorld(loop: loop, seed: seed)
        self.world = world
        let port = Named()
        let watch = HostWatch { port.name }
        self.watch = watch
        listener = try H4Listener(address, on: loop) { try world.addController(.subject, settings: [], on: watch.watching($0)) }
        port.name = "\(listener.address)"
    }

    /// The port's name, which is known after it starts listening.
    private final class Named {
        var name = "the port"
    }

    /// Logs the packets on the air, if the recorder is set to do so.
    public func logAir(to recorder: Recorder) { recorder.logAir(of: world) }

    /// Stops listening.
    public func stop() { listener.stop() }

    /// Waits until a host has connected.
    ///
    /// - Throws: `TransportError` if none connects in time, `CancellationError` after `stop()`.
    public func waitForHost(_ timeOut: Microseconds) throws {
        try loop.run { [listener] in try await listener.waitForHost(as: "an accessory", within: timeOut) }
    }
}
