import BBPackets

/// Knowledge about controllers from a table, for use by a host.
public struct ControllerKnowledge: Sendable {
    /// Workarounds for a controller with this version information.
    public var workarounds: @Sendable (HCICommands.ReadLocalVersionInformation.Return) -> ControllerWorkarounds
    /// Origin of an address that many units share; nil for any other address.
    public var originOfSharedAddress: @Sendable (BDADDR) -> String?

    /// Advice for the user about missing firmware; nil if nothing is known.
    public var adviceOnFirmware: @Sendable (HCICommands.ReadLocalVersionInformation.Return) -> String?

    public init(
        workarounds: @escaping @Sendable (HCICommands.ReadLocalVersionInformation.Return) -> ControllerWorkarounds = { _ in
            ControllerWorkarounds()
        },
        originOfSharedAddress: @escaping @Sendable (BDADDR) -> String? = { _ in nil },
        adviceOnFirmware: @escaping @Sendable (HCICommands.ReadLocalVersionInformation.Return) -> String? = { _ in nil }
    ) {
        self.workarounds = workarounds
        self.originOfSharedAddress = originOfSharedAddress
        self.adviceOnFirmware = adviceOnFirmware
    }
}
