import BBBenchTesting
import BBDongles
import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import BBVirtualDongle

/// A virtual dongle with switches, checked in virtual time with a second one without switches.
struct CheckUpBench {
    var conduct = DongleConduct()
    var hasHelper = true
    var plan = CheckUp.Plan()
    var change: @Sendable (inout ControllerConfiguration) -> Void = { _ in }

    init(_ quirks: [String] = []) throws { conduct = try DongleConduct(quirks) }

    func run() throws -> CheckUpReport { try timed().report }

    /// The report, and the total time of the checks.
    func timed() throws -> (report: CheckUpReport, length: Microseconds) {
        let loop = RunLoop()
        let simulation = Simulation(loop: loop, seed: 1)
        var configuration = ControllerConfiguration(address: DeviceAddress(value: 0x00B1_BE00_0002))
        configuration.profile = .dual
        change(&configuration)
        conduct.apply(to: &configuration)
        let pipe = InProcessTransport.pair(on: loop)
        try simulation.addController(configuration, on: ConductTransport(pipe.controller, conduct: conduct, on: loop))
        let helper = try simulation.addController(ControllerConfiguration(address: DeviceAddress(value: 0x00B1_BE00_0001)))
        let checkUp = try CheckUp(pipe.host, helper: hasHelper ? helper.host : nil, plan: plan, on: loop)
        try loop.run {
            try await checkUp.run()
            checkUp.close()
        }
        return (checkUp.report, loop.now)
    }
}
