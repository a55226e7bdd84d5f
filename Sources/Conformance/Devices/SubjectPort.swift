import Packets
import Timing
import Transport

/// A virtual controller served to a foreign host: the accessory under test brings its own stack and meets the tester on the simulated air.
/// One world in real time for the whole run.
public final class SubjectPort {
    public let loop = RunLoop(mode: .wall)
    let world: SimulatedWorld
    private let listener: H4Listener
    /// Whether the foreign host is there.
    let watch: HostWatch
    public var address: SocketAddress { listener.address }

    /// Listens for the foreign host.
    ///
    /// - Throws: `TransportError.busy` when the port is taken.
    public init(_ address: SocketAddress, seed: UInt64) throws(TransportError) {
        let world = SimulatedWorld(loop: loop, seed: seed)
        self.world = world
        let port = Named()
        let watch = HostWatch { port.name }
        self.watch = watch
        listener = try H4Listener(address, on: loop) { try world.addController(.subject, settings: [], on: watch.watching($0)) }
        port.name = "\(listener.address)"
    }

    /// The port's name, which is known once it listens.
    private final class Named {
        var name = "the port"
    }

    /// Logs what is on the air from now on, if the run wants that.
    public func logAir(to recorder: Recorder) { recorder.logAir(of: world) }

    /// Listens no more.
    public func stop() { listener.stop() }

    /// Waits until a host has connected.
    ///
    /// - Throws: `TransportError` when none comes in time, `CancellationError` after `stop()`.
    public func waitForHost(_ timeOut: Microseconds) throws {
        try loop.run { [listener] in try await listener.waitForHost(as: "an accessory", within: timeOut) }
    }
}
