import BBPackets
import BBTiming
import BBTransport
import BBUpperTester

/// A virtual controller served to a foreign host: the accessory under test uses its own stack, and the tester reaches it on the simulated
/// air.
/// There is one world for the whole run, in real time or in virtual time that the host shares.
public final class SubjectPort {
    public let loop: RunLoop
    let world: SimulatedWorld
    private let door: any Door
    /// Monitors the foreign host.
    let watch: HostWatch
    public var address: SocketAddress { door.address }
    /// The connection to the upper tester of the host, if there is one.
    private(set) var upperTester: HeldBTPPipe?
    /// Reason for which virtual time could not go on.
    public var fault: String? { (door as? VirtualTimeDoor)?.server.fault }

    /// Listens for the foreign host.
    ///
    /// - Parameter virtualTime: limits for a host that shares virtual time; nil for real time.
    /// - Throws: `TransportError.busy` if the port is in use.
    public init(_ address: SocketAddress, seed: UInt64, virtualTime: VirtualTimeLimits? = nil) throws(TransportError) {
        loop = RunLoop(mode: virtualTime == nil ? .wall : .virtual, watchesDescriptors: true)
        let world = SimulatedWorld(loop: loop, seed: seed)
        self.world = world
        let port = Named()
        let watch = HostWatch { port.name }
        self.watch = watch
        let attach = { (pipe: any HCITransport) in try world.addController(.subject, settings: [], on: watch.watching(pipe)) }
        if let virtualTime {
            door = try VirtualTimeDoor(address, virtualTime, on: loop, attach)
        } else {
            door = try H4Listener(address, on: loop, attach: attach)
        }
        port.name = "\(door.address)"
    }

    /// The port's name, which is known after it starts listening.
    private final class Named {
        var name = "the port"
    }

    /// Logs the packets on the air, if the recorder is set to do so.
    public func logAir(to recorder: Recorder) { recorder.logAir(of: world) }

    /// Stops listening.
    public func stop() { door.stop() }

    /// Connects to the upper tester of the host, or waits for it.
    ///
    /// - Parameter waits: called with the listening address.
    public func connect(_ place: BTPPlace, waits: @escaping (SocketAddress) -> Void) throws {
        upperTester = HeldBTPPipe(try loop.run { [loop] in LoopBound(try await place.pipe(on: loop, waits: waits), to: loop) }.value)
    }

    /// Waits until a host has connected.
    ///
    /// - Throws: `TransportError` if none connects in time, `CancellationError` after `stop()`.
    public func waitForHost(_ timeOut: Microseconds) throws {
        try loop.run { [door] in try await door.waitForHost(as: "an accessory", within: timeOut) }
    }
}

/// A listener for a foreign host.
private protocol Door: AnyObject {
    var address: SocketAddress { get }
    func waitForHost(as role: String, within timeOut: Microseconds) async throws
    func stop()
}

extension H4Listener: Door {}

/// A port in virtual time.
private final class VirtualTimeDoor: Door {
    let server: VirtualTimeServer
    var address: SocketAddress { server.addresses[0] }

    init(_ address: SocketAddress, _ limits: VirtualTimeLimits, on loop: RunLoop, _ attach: @escaping (any HCITransport) throws -> Void)
        throws(TransportError)
    {
        server = try VirtualTimeServer([address], on: loop, limits: limits, outlivesClients: true) { try attach($1) }
    }

    deinit { server.stop() }

    func waitForHost(as role: String, within timeOut: Microseconds) async throws {
        try await server.waitForClient(as: role, within: timeOut)
    }
    func stop() { server.stop() }
}
