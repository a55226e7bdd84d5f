import BBMisbehaviour
import BBPackets

extension DongleQuirk {
    /// Reception, reports and behaviour on the air.
    static let airQuirks: [DongleQuirk] =
        reportQuirks + [
            DongleQuirk(
                "deaf-rom", knownOf: "Realtek without firmware", "answers every command, but receives nothing on the air",
                .rule { _ in HearsNothing() }),
            DongleQuirk(
                "coded-deaf", knownOf: "Intel 8260 to AX201", "receives nothing while LE Coded is among its scanning or initiating PHYs",
                .rule { _ in CodedDeaf() }),
            DongleQuirk(
                "set-terminated-after-disable", knownOf: "Realtek 5.1", "sends LE_Advertising_Set_Terminated when the host disables a set",
                .rule { _ in TerminatedAfterDisable() }),
            DongleQuirk(
                "random-address-late", knownOf: "some", "uses a new random address only after the next advertising or scan parameters",
                .rule { _ in LateRandomAddress() }),
            DongleQuirk(
                "suggested-length-ignored", knownOf: "ESP32, EM9301, CYW20704, old Zephyr",
                allowedBy: "Core Vol 4, Part E, 7.8.35: the suggestion may be ignored",
                "ignores the data length that the host suggests",
                .rule { _ in SuggestionIgnored() }),
            DongleQuirk(
                "unasked-data-length", .milliseconds(0...2_000), standard: "15-95", knownOf: "Broadcom 5.4, phones",
                allowedBy: "Core Vol 6, Part B, 5.1.9: either side may begin the procedure",
                "starts the data length update on each LE link by itself",
                .rule { UnaskedDataLength(delay: $0.milliseconds) }),
            DongleQuirk(
                "past-needs-features", knownOf: "PacketCraft 568B",
                "transfers periodic advertising sync (PAST) only after the peer's features were read",
                .rule { _ in PASTNeedsFeatures() }),
            DongleQuirk(
                "encryption-change-masked", knownOf: "PacketCraft 5244",
                "sends no encryption events once page 2 of the event mask has been set", .rule { _ in EncryptionChangeMasked() }),
            DongleQuirk(
                "payload-timeout-breaks-pairing", knownOf: "Actions ATS2851",
                "loses the next ACL packet of a connection after a write of its authenticated payload timeout",
                .rule { _ in PayloadTimeoutLosesData() }),
            DongleQuirk(
                "links-starve-scan", .number(1...20), standard: "3", knownOf: "RTL8761BU",
                "reports no advertisements while N or more links are open",
                .rule { value in
                    PacketRule(toHost: { packet, wire in packet.isReport && wire.links.open.count >= value.number ? nil : packet })
                }),
        ]

    private static let reportQuirks: [DongleQuirk] = [
        DongleQuirk(
            "report-fragments", .number(1...229), standard: "50", knownOf: "controllers with small event buffers",
            allowedBy: "Core Vol 4, Part E, 7.7.65.13: the controller may split the data of one advertisement over several reports",
            "reports extended advertising data in fragments of this many octets",
            .rule { FragmentedReports(size: $0.number) }),
        DongleQuirk(
            "reports-own-address", knownOf: "a CSR clone", "every report carries the dongle's own address",
            .rule { _ in OwnAddressInReports() }),
        DongleQuirk(
            "reserved-phy-bits", .number(1...63), standard: "32", knownOf: "BCM4378, BCM4388",
            "sets reserved bits in the PHYs of advertising reports",
            .rule { value in
                ReportFilter(extended: {
                    var report = $0
                    report.primaryPHY |= UInt8(value.number) << 2
                    return report
                })
            }),
        DongleQuirk(
            "reserved-report-bits", .number(1...0x1FF), standard: "0x12", knownOf: "BCM4378, BCM4388",
            "sets reserved bits in the event type of advertising reports",
            .rule { value in
                ReportFilter(
                    legacy: {
                        var report = $0
                        report.eventType = AdvertisingReportType(rawValue: report.eventType.rawValue | 0x20)
                        return report
                    },
                    extended: {
                        var report = $0
                        report.eventType |= UInt16(value.number) << 7
                        return report
                    })
            }),
        DongleQuirk(
            "report-228-lost", .number(1...229), standard: "228", knownOf: "nRF SoftDevice Controller up to 1.7",
            "extended reports with this many octets of data are lost",
            .rule { value in ReportFilter(extended: { $0.data.count == value.number ? nil : $0 }) }),
        DongleQuirk(
            "strict-duplicates", knownOf: "AR3012, Intel",
            "reports an address only once while duplicates are filtered, even if the data changes",
            .rule { _ in StrictDuplicates() }),
        DongleQuirk(
            "legacy-reports-in-extended-scan", knownOf: "MediaTek in a phone",
            "reports legacy advertisements in legacy events during extended scanning, too",
            .rule { _ in LegacyReports() }),
    ]
}

/// Replaces the advertiser's address in reports by the controller's own.
final class OwnAddressInReports: ConductRule {
    private var own: BDADDR = 0

    func opened(_ number: Int, _ wire: ConductWire) { wire.after(.zero) { wire.command(HCICommands.ReadBDADDR()) } }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let complete = try? packet.event(as: HCIEvents.CommandComplete.self), complete.commandOpcode == HCICommands.ReadBDADDR.opcode,
            let returns = try? complete.returns(of: HCICommands.ReadBDADDR.self)
        {
            own = returns.bdADDR
        }
        return ReportFilter(
            legacy: { [own] in
                var report = $0
                report.address = own
                return report
            },
            extended: { [own] in
                var report = $0
                report.address = own
                return report
            }
        ).toHost(packet, wire)
    }
}

/// Suppresses encryption events once the host has set event mask page 2.
final class EncryptionChangeMasked: ConductRule {
    private var isMasked = false

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if packet.commandOpcode == HCICommands.SetEventMaskPage2.opcode { isMasked = true }
        if packet.commandOpcode == HCICommands.Reset.opcode { isMasked = false }
        return packet
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        let codes = [HCIEvents.EncryptionChange.code, HCIEvents.EncryptionChangeV2.code]
        return isMasked && codes.contains { $0 == packet.eventCode } ? nil : packet
    }
}

/// After Write_Authenticated_Payload_Timeout, drops the next data packet of the host for that connection.
final class PayloadTimeoutLosesData: ConductRule {
    private var struck: Set<ConnectionHandle> = []

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let command = try? packet.command(as: HCICommands.WriteAuthenticatedPayloadTimeout.self) {
            struck.insert(command.connectionHandle)
        }
        guard let header = packet.aclHeader, struck.remove(header.handle) != nil else { return packet }
        // The buffer is reported as free, as if the packet had been sent.
        wire.answer(
            HCIPacket(
                event: HCIEvents.NumberOfCompletedPackets(handles: [.init(connectionHandle: header.handle, numCompletedPackets: 1)])))
        return nil
    }
}
