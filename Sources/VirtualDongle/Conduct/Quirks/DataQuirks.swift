import BBMisbehaviour
import BBPackets

extension DongleQuirk {
    /// Data and data buffers.
    static let dataQuirks: [DongleQuirk] = [
        DongleQuirk(
            "packets-late", .milliseconds(1...1_000), standard: "5", knownOf: "slow serial lines, hubs, virtual machines",
            allowedBy: "Core Vol 4, Part A, 1: no transport limits the delay of a packet",
            "every packet reaches the host late, in order",
            .rule { LatePackets(delay: $0.milliseconds) }),
        DongleQuirk(
            "data-overtakes-events", .milliseconds(1...1_000), standard: "4-11", knownOf: "nRF52840, Intel 9260, RTL8761BU",
            allowedBy: "Core Vol 4, Part B, 2.1: events and data have separate endpoints", onlyOverUSB: true,
            "delays events, so that data overtakes them",
            .rule { LatePackets(delay: $0.milliseconds) { $0.kind == .event } }),
        DongleQuirk(
            "credits-missing", .number(0...65_535), standard: "251", knownOf: "Zephyr's UART sample",
            "never reports packets of this length as completed", .rule { MissingCredits(size: $0.number) }),
        DongleQuirk(
            "credits-never", .number(0...100_000), standard: "20", knownOf: "Zephyr of 2019, after fuzzing",
            "reports no completed packets after the first N", .rule { NoMoreCredits(after: $0.number) }),
        DongleQuirk(
            "credits-excess", knownOf: "faulty controllers", "reports each completed packet twice",
            .rule { _ in
                PacketRule.event(HCIEvents.NumberOfCompletedPackets.self) { event in
                    for index in event.handles.indices { event.handles[index].numCompletedPackets &*= 2 }
                }
            }),
        DongleQuirk(
            "credits-after-disconnect", knownOf: "Broadcom 5.4", "reports completed packets of a connection that has ended",
            .rule { _ in CreditsAfterDisconnect() }),
        DongleQuirk(
            "completed-packets-zero", knownOf: "controllers that report on a timer",
            allowedBy: "Core Vol 4, Part E, 7.7.19: Num_Completed_Packets is 0x0000 to 0xFFFF",
            "sends Number_Of_Completed_Packets with a count of zero before each one with a count",
            .rule { _ in
                PacketRule(toHost: { packet, wire in
                    guard packet.eventCode == HCIEvents.NumberOfCompletedPackets.code else { return packet }
                    wire.answer(
                        packet.changing(HCIEvents.NumberOfCompletedPackets.self) { event in
                            for index in event.handles.indices { event.handles[index].numCompletedPackets = 0 }
                        })
                    return packet
                })
            }),
        DongleQuirk(
            "completed-packets-masked", knownOf: "Zephyr", "suppresses Number_Of_Completed_Packets if bit 18 of the event mask is clear",
            .rule { _ in CompletedPacketsMasked() }),
        DongleQuirk(
            "acl-debug", knownOf: "QCA WCN6855", "sends its log as ACL data with handle 0xEDC", .rule { _ in PseudoHandles() }),
        DongleQuirk(
            "acl-dead", knownOf: "CSR clones", "delivers no data to the host",
            .rule { _ in PacketRule(toHost: { packet, _ in packet.kind == .acl ? nil : packet }) }),
        DongleQuirk(
            "acl-size-hole", .number(0...65_535), standard: "64", knownOf: "Zephyr's hci_usb",
            "loses ACL packets from the host that have this length, header included",
            .rule { value in PacketRule(fromHost: { packet, _ in packet.kind == .acl && packet.bytes.count == value.number ? nil : packet })
            }),
        DongleQuirk(
            "event-size-hole", .number(3...257), standard: "70", knownOf: "Zephyr's first hci_usb",
            "loses events of this length or longer",
            .rule { value in PacketRule(toHost: { packet, _ in packet.kind == .event && packet.bytes.count >= value.number ? nil : packet })
            }),
        DongleQuirk(
            "acl-after-disconnect", knownOf: "any dongle over USB",
            allowedBy: "Core Vol 4, Part B, 2.1: events and data have separate endpoints", onlyOverUSB: true,
            "delivers data of a connection after its end", .rule { _ in LateData() }),
        DongleQuirk(
            "continuation-first", knownOf: "AX210 (1)", "marks the first ACL packet of a connection as a continuing fragment",
            .rule { _ in ContinuationFirst() }),
        DongleQuirk(
            "iso-flood", .milliseconds(1...10_000), standard: "10", knownOf: "MT7925",
            "sends malformed ISO packets with handle 0 without end", .rule { IsochronousFlood(period: $0.milliseconds) }),
        DongleQuirk(
            "voice-padding", knownOf: "CSR8811", "puts 20 octets of padding before voice packets of 60 octets",
            .rule { _ in
                PacketRule(toHost: { packet, _ in
                    guard packet.kind == .sco, var voice = try? HCIData.SynchronousData(prefixOf: packet.bytes), voice.data.count == 60
                    else {
                        return packet
                    }
                    voice.data = [UInt8](repeating: 0, count: 20) + voice.data
                    return HCIPacket(.sco, voice.parameters)
                })
            }),
    ]
}

/// Lets the event mask suppress Number_Of_Completed_Packets.
final class CompletedPacketsMasked: ConductRule {
    private var isMasked = false
    private static let bit: UInt64 = 1 << 18

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let command = try? packet.command(as: HCICommands.SetEventMask.self) { isMasked = command.eventMask.rawValue & Self.bit == 0 }
        if packet.commandOpcode == HCICommands.Reset.opcode { isMasked = false }
        return packet
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        isMasked && packet.eventCode == HCIEvents.NumberOfCompletedPackets.code ? nil : packet
    }
}
