import Packets

/// What is known of controllers before they show it, as a table tells it to a host.
public struct ControllerKnowledge: Sendable {
    /// What to do otherwise than usual with a controller that says these numbers of itself.
    public var workarounds: @Sendable (HCICommands.ReadLocalVersionInformation.Return) -> ControllerWorkarounds
    /// Where an address comes from that does not tell one unit from another; nil for any other.
    public var originOfSharedAddress: @Sendable (BDADDR) -> String?

    /// What the user does about missing firmware; nil where nothing is known.
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
