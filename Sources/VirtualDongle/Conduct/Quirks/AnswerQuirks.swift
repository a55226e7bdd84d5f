import BBMisbehaviour
import BBPackets

extension DongleQuirk {
    /// Answers to commands.
    static let answerQuirks: [DongleQuirk] = [
        DongleQuirk(
            "status-for-complete", knownOf: "Actions ATS2851", "answers with Command_Status instead of Command_Complete",
            .rule { _ in StatusForComplete() }),
        DongleQuirk(
            "wrong-opcode", .choice(["vendor", "all"]), standard: "vendor", knownOf: "Qualcomm 4.0",
            "answers unknown commands with opcode 0xFFFF", .rule { WrongOpcode(all: $0.word == "all") }),
        DongleQuirk(
            "vendor-event-only", knownOf: "CSR", "answers a vendor command with a vendor event only, which returns no command credit",
            .rule { _ in VendorEventOnly() }),
        DongleQuirk(
            "vendor-events", .milliseconds(0...10_000), standard: "0-3", knownOf: "Broadcom, Samsung, Qualcomm",
            allowedBy: "Core Vol 4, Part E, 7.7: event code 0xFF is for vendors", "sends a vendor event between a command and its answer",
            .rule { value in
                PacketRule(toHost: { packet, wire in
                    guard packet.answeredOpcode != nil else { return packet }
                    let event = HCIPacket(event: HCIEvents.VendorSpecific(data: [0x58] + wire.octets(wire.number(4...80))))
                    if value.milliseconds.upperBound == 0 {
                        wire.answer(event)
                    } else {
                        wire.after(wire.time(value.milliseconds)) { wire.answer(event) }
                    }
                    return packet
                })
            }),
        DongleQuirk(
            "refuses", .commands, knownOf: "any: Supported_Commands is only a claim", "claims these commands and refuses them",
            .rule { RefusedCommands($0.commands) }),
        DongleQuirk(
            "silent", .commands, knownOf: "RTL8761B, CSR clones", "never answers these commands",
            .rule { value in
                PacketRule(fromHost: { packet, _ in packet.commandOpcode.map { value.commands[$0] != nil } == true ? nil : packet })
            }),
        DongleQuirk(
            "pretends", .commands, knownOf: "cheap chips", "answers these commands with success and does nothing",
            .rule { PretendedCommands(Set($0.commands.keys)) }),
        DongleQuirk(
            "command-lost-after-disconnect", knownOf: "some", "does not answer a command about a connection that has just ended",
            .rule { _ in
                PacketRule(fromHost: { packet, wire in
                    packet.connectionHandle.map { wire.links.closed.contains($0) } == true ? nil : packet
                })
            }),
        DongleQuirk(
            "reserved-mask-refused", .number(5...63), standard: "5", knownOf: "CSR, Kensington",
            "refuses an LE event mask that has this bit or a later one",
            .rule { value in
                ConditionalRefusal(.invalidHCICommandParameters) { packet, _ in
                    guard let command = try? packet.command(as: HCICommands.LESetEventMask.self) else { return false }
                    return command.leEventMask.rawValue >> UInt64(value.number) != 0
                }
            }),
        DongleQuirk(
            "reads-choose-family", knownOf: "every controller of 5.0 and later",
            allowedBy: "Core Vol 4, Part E, 3.1.1: the reads are among the extended commands",
            "disallows legacy commands once the host has read the number of advertising sets or the advertising data length",
            .rule { _ in ReadsChooseFamily() }),
        DongleQuirk(
            "host-completed-refused", knownOf: "Zephyr", allowedBy: "Core Vol 4, Part E, 7.3.40: an error may be returned",
            "answers Host_Number_Of_Completed_Packets with an error", .rule { _ in HostCompletedRefused() }),
    ]
}

/// Counts read commands for advertising sets as extended commands, so that legacy commands are disallowed after them.
final class ReadsChooseFamily: ConductRule {
    private var hasRead = false
    private static let reads = [
        HCICommands.LEReadNumberOfSupportedAdvertisingSets.opcode, HCICommands.LEReadMaximumAdvertisingDataLength.opcode,
    ]
    private static let legacy = [
        HCICommands.LESetAdvertisingParameters.opcode, HCICommands.LESetAdvertisingData.opcode, HCICommands.LESetScanResponseData.opcode,
        HCICommands.LESetAdvertisingEnable.opcode, HCICommands.LESetScanParameters.opcode, HCICommands.LESetScanEnable.opcode,
        HCICommands.LECreateConnection.opcode, HCICommands.LEReadAdvertisingPhysicalChannelTxPower.opcode,
    ]

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let opcode = packet.commandOpcode else { return packet }
        if opcode == HCICommands.Reset.opcode { hasRead = false }
        if Self.reads.contains(opcode) { hasRead = true }
        guard hasRead, Self.legacy.contains(opcode) else { return packet }
        if let answer = HCIPacket.refusal(of: packet, .commandDisallowed) { wire.answer(answer) }
        return nil
    }
}

/// Rejects Host_Number_Of_Completed_Packets.
final class HostCompletedRefused: ConductRule {
    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard packet.commandOpcode == HCICommands.HostNumberOfCompletedPackets.opcode else { return packet }
        wire.answer(
            HCIPacket(
                completeOpcode: HCICommands.HostNumberOfCompletedPackets.opcode,
                returns: [ErrorCode.invalidHCICommandParameters.rawValue], credits: 0))
        return packet
    }
}
