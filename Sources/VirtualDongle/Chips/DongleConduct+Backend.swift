import Capture
import Packets
import Simulation
import Timing

extension DongleConduct {
    /// The dongles of a simulation that behave like this: where its chip waits for firmware, that stands before them.
    ///
    /// - Parameters:
    ///   - configurations: the controllers before the conduct changes them.
    ///   - capture: gets every packet of every controller, as its host sees them.
    ///   - seed: fixes what is left to chance.
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

    /// Descriptors of a dongle that behaves like this.
    public func describe(serialNumber: String) -> DongleDescriptors {
        var descriptors = DongleDescriptors(serialNumber: serialNumber)
        apply(to: &descriptors)
        return descriptors
    }

    /// What is wrong with the USB side of such a dongle.
    public var faults: USBDongleFaults {
        var faults = USBDongleFaults()
        apply(to: &faults.conduct)
        return faults
    }
}
