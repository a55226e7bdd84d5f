import BBMisbehaviour
import BBPackets

extension DongleQuirk {
    /// Packets on USB endpoints.
    static let transferQuirks: [DongleQuirk] = [
        DongleQuirk(
            "split-events", .number(8...64), standard: "16", knownOf: "newer Realtek, MediaTek",
            allowedBy: "Core Vol 4, Part B, 2.1: an event may take several transfers",
            "ends an event transfer after N octets, whatever the size of the read", .endpoints { $0.eventTransferLimit = $1.number }),
        DongleQuirk(
            "joined-events", knownOf: "Realtek", allowedBy: "Core Vol 4, Part B, 2.1: the length field of an event shows its end",
            "sends two consecutive events in one transfer", .endpoints { conduct, _ in conduct.joinsEvents = true }),
        DongleQuirk(
            "holds-full-events", knownOf: "no particular dongle",
            "holds an event whose length is a multiple of wMaxPacketSize until the next one",
            .endpoints { conduct, _ in conduct.holdsFullEvents = true }),
        DongleQuirk(
            "stray-octet", .commands, standard: HCICommands.ReadLocalExtendedFeatures.name, knownOf: "Barrot 33fa:0010, 33fa:0012",
            "sends an extra octet after the answer to a command, if the answer ends in a short packet",
            .endpoints { $0.strayOctetAfter = Set($1.commands.keys) }),
        DongleQuirk(
            "exact-event-reads", knownOf: "CSR 0a12:0001 and clones",
            "an event is delivered to reads of exactly wMaxPacketSize; larger ones stay pending",
            .endpoints { conduct, _ in conduct.longReadsStayPending = true }),
        DongleQuirk(
            "waits-for-zlp", knownOf: "Zephyr before 2021",
            "holds data whose length is a multiple of wMaxPacketSize until a zero-length packet follows",
            .endpoints { conduct, _ in conduct.waitsForZeroLength = true }),
        DongleQuirk(
            "needs-set-interface", knownOf: "Intel 8087:0a5a", "sends no events until SetInterface(0, 0)",
            .endpoints { conduct, _ in conduct.eventsNeedSetInterface = true }),
        DongleQuirk(
            "data-in-dead", .choice(["suspend", "reset", "never"]), standard: "suspend", knownOf: "CSR clones 0134, 7558",
            "delivers nothing on bulk IN until the device has been suspended or its port reset, or never",
            .endpoints { $0.dataInCure = USBConduct.Cure(rawValue: $1.word) }),
        DongleQuirk(
            "class-request-stalls", .number(1...100), standard: "1", knownOf: "several, under load",
            "stalls the control pipe at the first N commands", .endpoints { $0.stalledCommands = Occurrences(count: $1.number) }),
        DongleQuirk(
            "vendor-requests", knownOf: "Digianswer", "expects commands in vendor requests; class requests stall",
            .endpoints { conduct, _ in conduct.takesVendorRequests = true }),
        DongleQuirk(
            "voice-interface-broken", knownOf: "RTX, CONWISE, Intel's boot loader", "refuses every alternate setting for voice",
            .endpoints { conduct, _ in conduct.refusesVoice = true }),
        DongleQuirk(
            "silent-voice", .number(1...6), standard: "1", knownOf: "Barrot 33fa:0012",
            "delivers silence in this alternate setting", .endpoints { $0.silentVoiceAlternate = UInt8($1.number) }),
        DongleQuirk(
            "loses-voice", .number(2...1_000), standard: "20", knownOf: "any dongle behind a hub", "loses every n-th voice frame",
            .endpoints { $0.lostVoice = Occurrences(every: $1.number) }),
    ]

    /// Attachment to and removal from the bus.
    static let deviceQuirks: [DongleQuirk] = [
        DongleQuirk(
            "reenumerates-on-reset", .identity, standard: "0000:0000", knownOf: "old CSR: a USB reset follows HCI_Reset",
            "re-enumerates at the first HCI_Reset, with another vendor and product number if one is given",
            .endpoints { $0.leaving = USBConduct.Leaving(.reset, as: $1.identity) }),
        DongleQuirk(
            "leaves-in-load", .identity, standard: "0000:0000", knownOf: "Intel AX210, QCA, laptop firmware",
            "re-enumerates during a firmware download",
            .endpoints { $0.leaving = USBConduct.Leaving(.vendorCommands, 4, as: $1.identity) }),
        DongleQuirk(
            "unplugged-after-commands", .number(1...10_000), standard: "20", knownOf: "users", "is unplugged after N commands",
            .endpoints { $0.leaving = USBConduct.Leaving(.commands, $1.number, returns: false) }),
        DongleQuirk(
            "unplugged-after-data", .number(1...100_000), standard: "20", knownOf: "users",
            "is unplugged after N ACL data packets from the host",
            .endpoints { $0.leaving = USBConduct.Leaving(.data, $1.number, returns: false) }),
        DongleQuirk(
            "mute-after-suspend", knownOf: "CSR clones 2520", "sends nothing after a suspend, until its port is reset",
            .endpoints { conduct, _ in conduct.suspension = .mute }),
        DongleQuirk(
            "returns-after-suspend", knownOf: "CSR clones", "re-enumerates when it is suspended",
            .endpoints { conduct, _ in conduct.suspension = .returnsAsNew }),
    ]
}
