import BBMisbehaviour

extension DongleQuirk {
    /// Bulk Serialization mode, the switch between the modes, and the recipients of commands. Core Vol 4, Part B.
    static let serialisedQuirks: [DongleQuirk] = [
        DongleQuirk(
            "indicator", .choice(["missing", "wrong", "doubled", "voice-as-data"]), standard: "missing", knownOf: "no particular dongle",
            "in Bulk Serialization mode, sends packets without their indicator, with a reserved one, with two, or voice with that of data",
            .endpoints { $0.serialised.indicator = USBConduct.Serialised.Indicator(rawValue: $1.word) }),
        DongleQuirk(
            "switch-packets", .choice(["lost", "events-lost", "doubled", "reversed"]), standard: "lost", knownOf: "no particular dongle",
            "loses, doubles or reverses the packets that the host has not fetched when it switches between the modes, or loses its events",
            .endpoints { $0.serialised.pending = USBConduct.Serialised.Pending(rawValue: $1.word) }),
        DongleQuirk(
            "stall-missing", .choice(["command", "voice", "mode"]), standard: "command", knownOf: "no particular dongle",
            "accepts what it shall refuse: commands on the control endpoint or a voice setting in Bulk Serialization mode, or the switch of"
                + " the mode in a voice setting",
            .endpoints { $0.serialised.missingRefusal = USBConduct.Serialised.Refusal(rawValue: $1.word) }),
        DongleQuirk(
            "refuses-without-stall", .choice(["silent", "error"]), standard: "silent", knownOf: "no particular dongle",
            "in place of a STALL, leaves a request that it refuses for its mode open, or ends it with an error on the bus",
            .endpoints { $0.serialised.refusalEnd = USBConduct.Serialised.RefusalEnd(rawValue: $1.word) ?? .stall }),
        DongleQuirk(
            "interrupt-events", knownOf: "no particular dongle", "sends events on the interrupt endpoint in Bulk Serialization mode, too",
            .endpoints { conduct, _ in conduct.serialised.hasEventsOnInterrupt = true }),
        DongleQuirk(
            "serialised-dead", knownOf: "no particular dongle",
            "Bulk Serialization mode can be selected, but carries nothing", .endpoints { conduct, _ in conduct.serialised.isDead = true }),
        DongleQuirk(
            "serialised-refused", knownOf: "no particular dongle", "refuses the Bulk Serialization mode that its descriptors offer",
            .endpoints { conduct, _ in conduct.serialised.isRefused = true }),
        DongleQuirk(
            "serialised-until-reset", knownOf: "no particular dongle", "refuses its Bulk Serialization mode after a reset of its port",
            .endpoints { conduct, _ in conduct.serialised.isRefusedAfterReset = true }),
        DongleQuirk(
            "only-request-zero", knownOf: "no particular dongle",
            allowedBy: "Core Vol 4, Part B, 2.2: a class request is a command whatever its bRequest and wValue are, which is recommended",
            "stalls class requests whose bRequest or wValue is not 0",
            .endpoints { conduct, _ in conduct.takesOnlyRequestZero = true }),
        DongleQuirk(
            "drops-commands-to", .choice(["device", "interface"]), standard: "interface", knownOf: "no particular dongle",
            "accepts commands to this recipient, but does not execute them",
            .endpoints { $0.ignoredRecipient = USBRecipient(rawValue: $1.word) }),
        DongleQuirk(
            "cuts-data", .number(8...512), standard: "64", knownOf: "no particular dongle",
            "ends a bulk transfer after N octets, whatever the size of the read",
            .endpoints { $0.dataTransferLimit = $1.number }),
        DongleQuirk(
            "joined-data", knownOf: "no particular dongle", "sends two consecutive packets in one bulk transfer",
            .endpoints { conduct, _ in conduct.joinsData = true }),
        DongleQuirk(
            "open-transfers", knownOf: "no particular dongle",
            allowedBy: "Core Vol 4, Part B, 2.1.1: the transfer of 256 octets in the example has four USB packets of 64",
            "sends no zero-length packet, so that a read goes on after data whose length is a multiple of wMaxPacketSize",
            .endpoints { conduct, _ in conduct.leavesTransfersOpen = true }),
        DongleQuirk(
            "zero-length-packets", knownOf: "Zephyr",
            allowedBy: "Core Vol 4, Part B, 2.1.1: a packet is one USB transfer, which may end with a zero-length packet",
            "sends a zero-length packet after data whose length is a multiple of wMaxPacketSize",
            .endpoints { conduct, _ in conduct.sendsEmptyTransfers = true }),
    ]
}
