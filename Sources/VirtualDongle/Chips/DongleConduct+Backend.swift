import BBCapture
import BBPackets
import BBSimulation
import BBTiming

extension DongleConduct {
    /// The dongles of a simulation with this conduct, including the boot loader of a chip that needs firmware.
    ///
    /// - Parameters:
    ///   - configurations: the controllers before the conduct is applied.
    ///   - capture: receives every packet of every controller, as seen by its host.
    ///   - seed: determines random choices.
    public func makeBackend(
        _ simulation: Simulation, configurations: [ControllerConfiguration], capture: CaptureLog? = nil, seed: UInt64 = 1, on loop: RunLoop
    ) throws(CaptureError) -> any DongleBackend {
        let simulated = try SimulatedBackend(
            simulation, configurations: configurations, conduct: self, capture: capture, seed: seed, on: loop)
        guard let profile, let boot = profile.boot else { return simulated }
        var deaf = DongleConduct()
        try? deaf.add("deaf-rom")
        let rom: SimulatedBackend? =
            if profile.worksWithoutFirmware {
                try SimulatedBackend(simulation, configurations: configurations, conduct: deaf, seed: seed, on: loop)
            } else { nil }
        return BootloaderBackend(simulated, model: boot, hasFirmware: profile.hasFirmware, rom: rom, on: loop)
    }

    /// USB descriptors of a dongle with this conduct.
    public func describe(serialNumber: String) -> DongleDescriptors {
        var descriptors = DongleDescriptors(serialNumber: serialNumber)
        apply(to: &descriptors)
        return descriptors
    }

    /// USB behaviour of a dongle with this conduct.
    public var usb: USBConduct {
        var conduct = USBConduct()
        for case (.endpoints(let change), let value) in inOrder { change(&conduct, value) }
        return conduct
    }
}
