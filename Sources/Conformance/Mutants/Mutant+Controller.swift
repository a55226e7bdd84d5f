import BBCases
import BBHost
import BBSimulation

extension Mutant {
    /// The virtual controller with this defect; nil if the defect is a host's, or is in the pipe between host and controller.
    ///
    /// - Throws: `Problem` for a rule that no controller can follow.
    public func controllerConfiguration() throws -> ControllerConfiguration? { try SimulatedWorld.configuration(of: self) }

    /// The host with this defect.
    ///
    /// - Throws: `Problem` for a defect that a host cannot have.
    public func hostQuirks() throws -> HostQuirks { try FaultRules.hostQuirks(fault.host, fault.rewrites) }
}
