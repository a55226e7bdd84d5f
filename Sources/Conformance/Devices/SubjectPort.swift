import Packets
import Timing
import Transport

/// A virtual controller served to a foreign host: the accessory under test brings its own stack and meets the tester on the simulated air.
/// One world in real time for the whole run.
public final class SubjectPort {
    let loop = RunLoop(mode: .wall)
    let world: SimulatedWorld
    private let listener: H4Listener
    public var address: SocketAddress { listener.address }

    /// Listens for the foreign host.
    ///
    /// - Throws: `TransportError.busy` when the port is taken.
    public init(_ address: SocketAddress, seed: UInt64) throws(TransportError) {
        let world = SimulatedWorld(loop: loop, seed: seed)
        self.world = world
        listener = try H4Listener(address, on: loop) { try world.addController(.subject, settings: [], on: $0) }
    }

    /// Logs what is on the air from now on, if the run wants that.
    public func logAir(to recorder: Recorder) { recorder.logAir(of: world) }

    /// Waits until a host has connected.
    public func waitForHost(_ timeOut: Microseconds) throws {
        try loop.run { [listener] in try await listener.waitForHost(as: "an accessory", within: timeOut) }
    }
}
