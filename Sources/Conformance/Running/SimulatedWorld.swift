import Capture
import Packets
import Simulation
import Timing
import Transport

/// The simulated air of a case and the virtual controllers in it.
///
/// `@unchecked Sendable`: lives on its loop's thread only.
final class SimulatedWorld: @unchecked Sendable {
    let simulation: Simulation
    let loop: RunLoop
    private var addresses: [UInt64: Side] = [:]
    private var airSinks: [@Sendable (AirFrame, Microseconds) -> Void] = []

    init(loop: RunLoop, seed: UInt64) {
        self.loop = loop
        simulation = Simulation(loop: loop, seed: seed)
    }

    /// Adds a virtual controller and returns the host's end of its pipe.
    func addController(_ side: Side, settings: [ControllerSetting], rewrites: [Fault.Rewrite] = []) throws -> any HCITransport {
        let pair = InProcessTransport.pair(name: "virtual", on: loop)
        try addController(side, settings: settings, rewrites: rewrites, on: pair.controller)
        return pair.host
    }

    /// Adds a virtual controller on the controller's end of a pipe.
    func addController(_ side: Side, settings: [ControllerSetting], rewrites: [Fault.Rewrite] = [], on end: any HCITransport) throws {
        var configuration = ControllerConfiguration(address: Self.address(of: side))
        for setting in settings where !ControllerSettings.apply(setting, to: &configuration) {
            throw Problem(setting.position, "the setting '\(setting.name)' cannot be \(setting.value)")
        }
        let made = configuration
        addresses[made.address.value] = side
        try simulation.assumeIsolated { simulation throws in _ = try simulation.addController(made, on: end) }
    }

    static func address(of side: Side) -> DeviceAddress {
        DeviceAddress(value: side == .tester ? 0x00B1_BE00_0001 : 0x00B1_BE00_0002)
    }

    /// Hands every transmission to `sink` from now on, beside the sinks before it.
    func onAir(_ sink: @escaping @Sendable (AirFrame, Microseconds) -> Void) {
        airSinks.append(sink)
        let sinks = airSinks
        simulation.assumeIsolated { $0.logAir { frame, time in for sink in sinks { sink(frame, time) } } }
    }

    func setPacketErrorRate(_ rate: Double) {}

    /// Puts what is on the air into a case's ledger from now on.
    func observe(into ledger: Ledger) async {}
}
