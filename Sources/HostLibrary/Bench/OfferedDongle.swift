public import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import BBVirtualDongle

/// A simulated controller on the bench's air for another program: a firmware built for Linux, Bumble, or a command of `bluebench`.
public struct OfferedDongle: Sendable, Hashable {
    /// The device selector for `bluebench` and for this library, such as `tcp:127.0.0.1:40001`.
    public let selector: String
    /// The TCP port on this machine. It speaks H4, in virtual time with the messages of the shared clock.
    public let port: UInt16
    /// The controller's public address.
    public let address: DeviceAddress
}

extension Bench {
    /// Offers simulated controllers on the bench's air, each on a TCP port of this machine.
    ///
    /// In virtual time the programs share the bench's clock (`Python/bluebench/virtualtime`, `Examples/firmware/vt_h4.c`), and the bench
    /// stands still until the first of them has connected: start the program, then call `waitForProgram`.
    ///
    /// - Throws: `BluetoothError`; origin `caller` for a second call.
    public func offer(_ count: Int = 1) throws -> [OfferedDongle] {
        guard offers == nil else { throw BluetoothError(.caller, .other, "the bench already offers controllers: offer all with one call") }
        let configurations = (0..<max(1, count)).map { _ in nextController() }
        do {
            let backend = try SimulatedBackend(simulation, configurations: configurations, seed: seed, on: loop)
            let offers = try Offers(backend, configurations.count, isShared: time == .virtual, on: loop)
            self.offers = offers
            return zip(offers.addresses, configurations).map { address, configuration in
                var port: UInt16 = 0
                if case .tcp(_, let own) = address { port = own }
                return OfferedDongle(
                    selector: "\(address)" + (time == .virtual ? ",virtual-time" : ""), port: port, address: configuration.address)
            }
        } catch {
            throw BluetoothError.translated(error)
        }
    }

    /// Waits until a program has connected to an offered controller in virtual time. The limit is the machine's time, since the bench's
    /// time stands still.
    public func waitForProgram(within limit: Duration = .seconds(30)) async throws {
        guard let server = offers?.shared else { throw BluetoothError(.caller, .other, "no controller is offered in virtual time") }
        try await BluetoothError.translating { try await server.waitForClient(as: "a program", within: Microseconds(limit)) }
    }
}

/// The controllers that a bench offers.
final class Offers {
    let addresses: [SocketAddress]
    /// The server, in virtual time.
    let shared: VirtualTimeServer?
    private let server: H4DongleServer?

    init(_ backend: SimulatedBackend, _ count: Int, isShared: Bool, on loop: RunLoop) throws {
        let places = Array(repeating: SocketAddress.tcp(host: "127.0.0.1", port: 0), count: count)
        if isShared {
            let shared = try VirtualTimeServer(places, on: loop, outlivesClients: true) { try backend.attach($0, to: $1) }
            (self.shared, server, addresses) = (shared, nil, shared.addresses)
        } else {
            let server = H4DongleServer(backend: backend, on: loop)
            (shared, self.server) = (nil, server)
            addresses = try places.indices.map { try server.offer($0, at: places[$0]) }
        }
    }

    func stop() {
        shared?.stop()
        server?.stop()
    }
}
