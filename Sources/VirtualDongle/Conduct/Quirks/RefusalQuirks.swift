import BBHCI
import BBMisbehaviour
import BBPackets

extension DongleQuirk {
    private static let statuses = QuirkValue.Kind.choice(["unknown", "disallowed"])

    /// One or more commands that are reported as supported, but rejected.
    private static func refusal(_ name: String, _ opcodes: [UInt16], knownOf: String, _ what: String) -> DongleQuirk {
        DongleQuirk(
            name, statuses, standard: "unknown", knownOf: knownOf, "claims support of \(what), and then refuses",
            .rule { value in
                let status: ErrorCode = value.word == "disallowed" ? .commandDisallowed : .unknownHCICommand
                return RefusedCommands(Dictionary(uniqueKeysWithValues: opcodes.map { ($0, status) }))
            })
    }

    /// Commands reported as supported but not implemented, and states reported as supported but not possible.
    static let refusalQuirks: [DongleQuirk] =
        [
            refusal(
                "no-supported-commands", [HCICommands.ReadLocalSupportedCommands.opcode], knownOf: "Silicon Wave",
                "Read_Local_Supported_Commands, which its version requires"),
            refusal(
                "no-stored-link-key",
                [
                    HCICommands.ReadStoredLinkKey.opcode, HCICommands.WriteStoredLinkKey.opcode, HCICommands.DeleteStoredLinkKey.opcode,
                ], knownOf: "CSR clones, BCM2045, CONWISE CW6622", "stored link keys"),
            refusal("no-voice-setting", [HCICommands.ReadVoiceSetting.opcode], knownOf: "CSR clones", HCICommands.ReadVoiceSetting.name),
            refusal("no-page-scan-type", [HCICommands.ReadPageScanType.opcode], knownOf: "CSR clones", HCICommands.ReadPageScanType.name),
            refusal(
                "no-mws-transport", [HCICommands.GetMWSTransportLayerConfiguration.opcode], knownOf: "Broadcom for Apple",
                HCICommands.GetMWSTransportLayerConfiguration.name),
            refusal(
                "no-authenticated-payload-timeout",
                [HCICommands.ReadAuthenticatedPayloadTimeout.opcode, HCICommands.WriteAuthenticatedPayloadTimeout.opcode],
                knownOf: "Actions ATS2851", "the authenticated payload timeout"),
            refusal(
                "no-enhanced-synchronous",
                [
                    HCICommands.EnhancedSetupSynchronousConnection.opcode, HCICommands.EnhancedAcceptSynchronousConnectionRequest.opcode,
                ], knownOf: "MediaTek, QCA, Barrot", "the enhanced synchronous commands"),
            refusal(
                "no-transmit-power", [HCICommands.LEReadTransmitPower.opcode], knownOf: "Actions, Broadcom for Apple",
                HCICommands.LEReadTransmitPower.name),
            refusal(
                "no-rpa-timeout", [HCICommands.LESetResolvablePrivateAddressTimeout.opcode], knownOf: "Actions ATS2851",
                HCICommands.LESetResolvablePrivateAddressTimeout.name),
            refusal(
                "no-encryption-key-size", [HCICommands.ReadEncryptionKeySize.opcode], knownOf: "Actions ATS2851",
                HCICommands.ReadEncryptionKeySize.name
            ),
            refusal(
                "no-advertising-sets-read", [HCICommands.LEReadNumberOfSupportedAdvertisingSets.opcode], knownOf: "several",
                HCICommands.LEReadNumberOfSupportedAdvertisingSets.name),
            refusal(
                "no-advertising-length-read", [HCICommands.LEReadMaximumAdvertisingDataLength.opcode], knownOf: "several",
                HCICommands.LEReadMaximumAdvertisingDataLength.name),
            refusal(
                "no-ext-scan", [HCICommands.LESetExtendedScanParameters.opcode, HCICommands.LESetExtendedScanEnable.opcode],
                knownOf: "BCM4377, Actions ATS2851, some RTL8761B", "extended scanning"),
            refusal(
                "no-ext-create", [HCICommands.LEExtendedCreateConnection.opcode], knownOf: "Actions ATS2851",
                HCICommands.LEExtendedCreateConnection.name),
        ] + conditionalRefusals

    private static let conditionalRefusals: [DongleQuirk] = [
        DongleQuirk(
            "no-erroneous-data-reporting", knownOf: "CSR clones, Actions ATS2851",
            "claims support of Default_Erroneous_Data_Reporting, refuses it, and locks up 4 to 16 commands later",
            .rule { _ in
                LockUp(refuses: true, after: 4...16) {
                    $0.commandOpcode == HCICommands.ReadDefaultErroneousDataReporting.opcode
                        || $0.commandOpcode == HCICommands.WriteDefaultErroneousDataReporting.opcode
                }
            }),
        DongleQuirk(
            "event-filter-locks", knownOf: "CSR clones", "locks up when the event filters are cleared",
            .rule { _ in
                LockUp(refuses: false, after: 0...0) { (try? $0.command(as: HCICommands.SetEventFilter.self))?.filterType == 0 }
            }),
        DongleQuirk(
            "no-extended-features-page-2", .choice(["refused", "garbage"]), standard: "refused", knownOf: "RTL8723CS",
            "claims support of page 2 of the LMP features, and then refuses it or returns garbage",
            .rule { value in
                if value.word == "refused" { return NoFeaturesPage2() }
                return GarbageFeaturesPage2()
            }),
        DongleQuirk(
            "legacy-scan-unanswered", knownOf: "RTL8761B of 2357:0604", "never answers LE_Set_Scan_Enable",
            .rule { _ in PacketRule(fromHost: { packet, _ in packet.commandOpcode == HCICommands.LESetScanEnable.opcode ? nil : packet }) }),
        DongleQuirk(
            "no-scan-beside-links", knownOf: "some RTL8761B", "refuses to scan while there is a connection",
            .rule { _ in ConditionalRefusal(.commandDisallowed) { $0.startsScanning && !$1.links.open.isEmpty } }),
        DongleQuirk(
            "one-le-role", knownOf: "CSR8510", "advertises, scans or initiates only one at a time, but claims support of combinations",
            .rule { _ in
                ConditionalRefusal(.commandDisallowed) { packet, wire in
                    let links = wire.links
                    return packet.startsAdvertising && (links.isScanning || links.isInitiating)
                        || packet.startsScanning && (links.isAdvertising || links.isInitiating)
                        || packet.startsInitiating && (links.isAdvertising || links.isScanning)
                }
            }),
        DongleQuirk(
            "le-states-lie", knownOf: "many", "claims support of advertising during a connection, and then refuses",
            .rule { _ in ConditionalRefusal(.commandDisallowed) { $0.startsAdvertising && $1.links.open.values.contains { $0.kind == .le } }
            }),
        DongleQuirk(
            "no-simultaneous-discovery", knownOf: "CSR clones", allowedBy: "Core Vol 4, Part E, 7.1.1: Command Disallowed may be returned",
            "does not inquire while it scans",
            .rule { _ in
                ConditionalRefusal(.commandDisallowed) { $0.commandOpcode == HCICommands.Inquiry.opcode && $1.links.isScanning }
            }),
    ]
}

/// Reports feature page 2 as the last page, but rejects reading it.
final class NoFeaturesPage2: ConductRule {
    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let command = try? packet.command(as: HCICommands.ReadLocalExtendedFeatures.self), command.pageNumber >= 2 else {
            return packet
        }
        if let answer = HCIPacket.refusal(of: packet, .invalidHCICommandParameters) { wire.answer(answer) }
        return nil
    }
}

final class GarbageFeaturesPage2: ConductRule {
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        packet.changingReturns(of: HCICommands.ReadLocalExtendedFeatures.self) { returns in
            if returns.pageNumber >= 2 { returns.extendedLMPFeatures = wire.octets(8).reduce(0) { $0 << 8 | UInt64($1) } }
        }
    }
}
