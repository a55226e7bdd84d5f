import BBBench
import BBHost
import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import BBVirtualDongle
import Testing

@Suite struct DeviceOpenerTests {
    /// The clone shares its public address with all of its kind, and the table of known dongles says so.
    @Test(arguments: [("csr-clone", DeviceAddress.Kind.random), ("csr8510", .public)])
    func aHostOfADeviceKnowsItsController(chip: String, kind: DeviceAddress.Kind) throws {
        try onServedDongle(chip) { device, loop in
            let host = device.host(on: loop)
            defer { host.close() }
            try await host.start()
            #expect(host.address.kind == kind)
        }
    }

    @Test func anObservedDeviceIsKnownAsBefore() throws {
        try onServedDongle("csr-clone") { device, loop in
            let observer = PassingTransport(device.transport)
            let host = device.observed { _ in observer }.host(on: loop)
            defer { host.close() }
            try await host.start()
            #expect(host.address.kind == .random && observer.sent > 0)
        }
    }

    /// A device that is held open serves one user after another; each gets only the packets that arrive while it is there.
    @Test func aHeldDeviceIsUsedByOneHostAfterAnother() throws {
        try onServedDongle("csr-clone") { device, loop in
            let held = HeldTransport(device, on: loop)
            try held.start()
            try await held.isReady.value()
            for _ in 1...2 {
                let host = Host(loop: loop, transport: held)
                host.knowledge = held.knowledge
                try await host.start()
                #expect(host.address.kind == .random)
                await host.leave()
            }
            #expect(held.wasReady && held.failure == nil)
            held.release()
        }
    }

    @Test(arguments: ["virtual", "tcp:127.0.0.1:1,virtual-time", "unix:/nonexistent", "usb:250-1"])
    func whatCannotBeOpenedIsAnError(selector: String) throws {
        let loop = RunLoop(mode: .wall)
        #expect(throws: TransportError.self) { try DeviceOpener().device(try DeviceSelector(selector), on: loop) }
    }

    private func onServedDongle(_ chip: String, _ body: @escaping (BenchDevice, RunLoop) async throws -> Void) throws {
        let loop = RunLoop(mode: .wall)
        let simulation = Simulation(loop: loop, seed: 1)
        let configuration = ControllerConfiguration(address: DeviceAddress(value: 0x00B1_BE00_0001))
        let conduct = DongleConduct(chip: try #require(ChipProfile.named(chip)))
        let backend = try conduct.makeBackend(simulation, configurations: [configuration], on: loop)
        let server = H4DongleServer(backend: backend, on: loop)
        try loop.run {
            defer { server.stop() }
            let address = try server.offer(0, at: .tcp(host: "127.0.0.1", port: 0))
            try await body(try DeviceOpener().device(.socket(address), on: loop), loop)
        }
    }
}

/// Forwards packets and counts those of the host.
private final class PassingTransport: HCITransport {
    private(set) var sent = 0
    private let inner: any HCITransport
    var name: String { inner.name }

    init(_ inner: any HCITransport) { self.inner = inner }

    func open(_ sink: any HCITransportSink) throws(TransportError) { try inner.open(sink) }
    func close() { inner.close() }
    func send(_ packet: HCIPacket) {
        sent += 1
        inner.send(packet)
    }
}
