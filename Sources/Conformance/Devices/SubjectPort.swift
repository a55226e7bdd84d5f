import Packets
import Timing
import Transport

/// A virtual controller served to a foreign host: the accessory under test brings its own stack and meets the tester on the simulated air.
/// One world in real time for the whole run.
public final class SubjectPort {
    let loop = RunLoop(mode: .wall)
    let world: SimulatedWorld
    private let listener: SocketListener
    private var isTaken = false
    private var arrival: Promise<Void>
    public let address: SocketAddress

    /// Listens for the foreign host.
    ///
    /// - Throws: `TransportError.busy` when the port is taken.
    public init(_ address: SocketAddress, seed: UInt64) throws(TransportError) {
        world = SimulatedWorld(loop: loop, seed: seed)
        arrival = Promise<Void>(on: loop)
        listener = try SocketListener(address, on: loop)
        self.address = listener.address
        listener.start { [self] stream in accept(stream) }
    }

    /// Logs what is on the air from now on, if the run wants that.
    public func logAir(to recorder: Recorder) { recorder.logAir(of: world) }

    /// Waits until a host has connected.
    public func waitForHost(_ timeOut: Microseconds) throws {
        let arrival = arrival
        let deadline = loop.now + timeOut
        do {
            try loop.run { try await arrival.value(until: deadline) }
        } catch is TimeOut {
            throw TransportError.unreachable("an accessory: no host connected to \(address) within \(timeOut.text)")
        }
    }

    private func accept(_ stream: ByteStream) {
        do {
            try world.addController(.subject, settings: [], on: H4Transport(stream))
            arrival.fulfil(())
        } catch {
            stream.close()
        }
    }
}
