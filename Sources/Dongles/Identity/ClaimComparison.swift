import HCI
import Packets

/// A command that reads and changes nothing, and where the dongle claims to support it. Core Vol 4, Part E, 6.27.
public struct ProbedCommand: Sendable, Equatable {
    public enum Finding: Sendable, Equatable {
        case asClaimed
        /// Claimed, yet answered "unknown command" or not at all.
        case claimedFalsely
        /// Not claimed, yet it works.
        case workedUnclaimed
    }

    public var name: String
    public var finding: Finding
}

extension DongleProbe {
    /// Compares what the dongle claims in its supported commands with what it answers.
    public func compareClaims(_ identity: DongleIdentity) async throws -> [ProbedCommand] {
        var findings: [ProbedCommand] = []
        for command in Self.harmless {
            let claims = SupportedCommands(identity.supportedCommands).contains(command.claim)
            let answer = try await raw(command.opcode, command.parameters)
            let works = answer?.status == .success
            let isUnknown = answer == nil || answer?.status == .unknownHCICommand
            let finding: ProbedCommand.Finding = claims && isUnknown ? .claimedFalsely : !claims && works ? .workedUnclaimed : .asClaimed
            findings.append(ProbedCommand(name: command.name, finding: finding))
        }
        return findings
    }
}

extension DongleProbe {
    struct Harmless {
        var name: String
        var opcode: UInt16
        var parameters: [UInt8]
        var claim: SupportedCommandsBit?

        init<Command: HCICommand>(_ command: Command) {
            name = Command.name
            opcode = Command.opcode
            parameters = command.parameters
            claim = Command.supportedCommandsBit
        }
    }

    static let harmless: [Harmless] = [
        Harmless(HCICommands.ReadLocalVersionInformation()),
        Harmless(HCICommands.ReadLocalSupportedFeatures()),
        Harmless(HCICommands.ReadLocalExtendedFeatures()),
        Harmless(HCICommands.ReadBufferSize()),
        Harmless(HCICommands.ReadBDADDR()),
        Harmless(HCICommands.ReadLocalSupportedCodecs()),
        Harmless(HCICommands.LEReadBufferSize()),
        Harmless(HCICommands.LEReadLocalSupportedFeatures()),
        Harmless(HCICommands.LEReadAdvertisingPhysicalChannelTxPower()),
        Harmless(HCICommands.LEReadFilterAcceptListSize()),
        Harmless(HCICommands.LEEncrypt()),
        Harmless(HCICommands.LERand()),
        Harmless(HCICommands.LEReadSupportedStates()),
        Harmless(HCICommands.LEReadSuggestedDefaultDataLength()),
        Harmless(HCICommands.LEReadResolvingListSize()),
        Harmless(HCICommands.LEReadMaximumDataLength()),
        Harmless(HCICommands.LEReadMaximumAdvertisingDataLength()),
        Harmless(HCICommands.LEReadNumberOfSupportedAdvertisingSets()),
        Harmless(HCICommands.LEReadTransmitPower()),
    ]
}
