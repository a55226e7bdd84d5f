import BBCases
import BBPackets
import BBSimulation

/// The commands that the cases send.
public struct CommandCoverage: Sendable {
    /// The commands that the virtual controller supports, in the order of its mask.
    public let claimed: [String]
    /// The supported commands that no case sends on either side.
    public let unsent: [String]

    public init(_ catalogue: Catalogue, profile: ControllerConfiguration.Profile = .le) {
        var configuration = ControllerConfiguration(address: SimulatedWorld.address(of: .subject))
        configuration.profile = profile
        claimed = Features.commands(in: configuration.supportedCommands)
        let steps = catalogue.cases.flatMap { $0.setup + $0.steps + $0.teardown } + catalogue.procedures.values.flatMap(\.steps)
        let sent = Set(steps.flatMap(\.commandsSent))
        unsent = claimed.filter { !sent.contains($0) }
    }
}

extension Step {
    /// The commands of the step and of the steps inside.
    fileprivate var commandsSent: [String] {
        let own: [String] =
            switch kind {
            case .send(let command): [command.name]
            case .action(let action): NamedActions.named(action.name)?.commands ?? []
            default: []
            }
        return own + inner.flatMap(\.commandsSent)
    }
}
