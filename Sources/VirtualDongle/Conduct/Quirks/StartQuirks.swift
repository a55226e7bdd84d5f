import BBMisbehaviour
import BBPackets

extension DongleQuirk {
    /// Start-up and command flow control.
    static let startQuirks: [DongleQuirk] = [
        DongleQuirk(
            "first-reset-unanswered", .number(1...10), standard: "1", knownOf: "Realtek after a reopen",
            "ignores the first N HCI_Reset commands",
            .rule { UnheardReset(times: $0.number) }),
        DongleQuirk(
            "second-open-deaf", knownOf: "BCM20702A, Barrot under 0a12:0001",
            "ignores commands each second time that it is opened, until its port is reset", .rule { _ in DeafOpening(everySecond: true) }),
        DongleQuirk(
            "port-reset-needed", knownOf: "RTL8761BU plugged in slowly, Baseus BA04", "ignores commands until its port is reset",
            .rule { _ in DeafOpening(everySecond: false) }),
        DongleQuirk(
            "reset-first", knownOf: "Intel 07dc, 0a2a, 0aa7 left switched off by software", "refuses every command until HCI_Reset",
            .rule { _ in SwitchedOff() }),
        DongleQuirk(
            "stale-data", knownOf: "any dongle after a crash of the program",
            "delivers events and data left over from the previous program",
            .rule { _ in StalePackets() }),
        DongleQuirk(
            "noop-first", knownOf: "Samsung, chips of 2010", allowedBy: "Core Vol 4, Part E, 4.4: an event without a command gives credits",
            "sends a Command_Status for opcode 0 as its first event",
            .rule { _ in OpeningPackets { [HCIPacket(statusOpcode: 0, .success)] } }),
        DongleQuirk(
            "credit-zero", knownOf: "Intel 8087:07dc", "reports Num_HCI_Command_Packets 0 in its first answer, and never raises it",
            .rule { _ in CreditZero() }),
        DongleQuirk(
            "credits-by-noop", .milliseconds(0...1_000), standard: "1-20", knownOf: "CSR, Samsung",
            allowedBy: "Core Vol 4, Part E, 4.4: an event without a command gives credits",
            "reports Num_HCI_Command_Packets 0 in each answer, and raises it later by a Command_Status for opcode 0",
            .rule { CreditsByNoOperation(delay: $0.milliseconds) }),
        DongleQuirk(
            "reset-slow", .milliseconds(1...60_000), standard: "700", knownOf: "CSR, Barrot, MediaTek after a firmware download",
            allowedBy: "Core Vol 4, Part E, 4.4: an answer within a second is only recommended",
            "answers HCI_Reset late",
            .rule { SlowAnswers(delay: $0.milliseconds) { $0.commandOpcode == HCICommands.Reset.opcode } }),
        DongleQuirk(
            "scan-disable-slow", .milliseconds(1...60_000), standard: "1030", knownOf: "Qualcomm 4.0",
            allowedBy: "Core Vol 4, Part E, 4.4: an answer within a second is only recommended",
            "answers the command to stop scanning late", .rule { SlowAnswers(delay: $0.milliseconds) { $0.stopsScanning } }),
    ]
}

/// Sends packets before the first command of the host.
final class OpeningPackets: ConductRule {
    private let packets: () -> [HCIPacket]

    init(_ packets: @escaping () -> [HCIPacket]) { self.packets = packets }

    func opened(_ number: Int, _ wire: ConductWire) { for packet in packets() { wire.answer(packet) } }
}

extension HCIPacket {
    var stopsScanning: Bool {
        guard let command = roleCommand, !command.isOn else { return false }
        return command.opcode == HCICommands.LESetScanEnable.opcode || command.opcode == HCICommands.LESetExtendedScanEnable.opcode
    }

    var startsScanning: Bool {
        guard let command = roleCommand, command.isOn else { return false }
        return command.opcode == HCICommands.LESetScanEnable.opcode || command.opcode == HCICommands.LESetExtendedScanEnable.opcode
    }

    var startsAdvertising: Bool {
        guard let command = roleCommand, command.isOn else { return false }
        return command.opcode == HCICommands.LESetAdvertisingEnable.opcode
            || command.opcode == HCICommands.LESetExtendedAdvertisingEnable.opcode
    }

    var startsInitiating: Bool {
        commandOpcode == HCICommands.LECreateConnection.opcode || commandOpcode == HCICommands.LEExtendedCreateConnection.opcode
    }
}
