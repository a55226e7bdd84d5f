import BBMisbehaviour

extension DongleQuirk {
    /// USB descriptors.
    static let descriptorQuirks: [DongleQuirk] = [
        DongleQuirk(
            "usb-id", .identity, knownOf: "every manufacturer", allowedBy: "Core Vol 4, Part B, 2.1: the manufacturer chooses them",
            "has this vendor and product number", .descriptors { if let id = $1.identity { ($0.vendorID, $0.productID) = id } }),
        DongleQuirk(
            "usb-release", .number(0...0xFFFF), knownOf: "every manufacturer",
            allowedBy: "Core Vol 4, Part B, 2.1: the manufacturer chooses it",
            "has this release number (bcdDevice)", .descriptors { $0.release = UInt16($1.number) }),
        DongleQuirk(
            "vendor-interface", knownOf: "Broadcom's customers, Apple", "its interfaces have the vendor-specific class FF/01/01",
            .descriptors { descriptors, _ in
                (descriptors.deviceClass, descriptors.interfaceClass) = ([0xFF, 0x01, 0x01], [0xFF, 0x01, 0x01])
            }),
        DongleQuirk(
            "composite", .choice(["ef", "00"]), standard: "ef", knownOf: "Intel, MediaTek, Zephyr, laptop modules",
            allowedBy: "Core Vol 4, Part B, 2.2: Bluetooth may be one function of several",
            "has the device class of a composite device; only its interfaces have that of Bluetooth",
            .descriptors { $0.deviceClass = $1.word == "ef" ? [0xEF, 0x02, 0x01] : [0, 0, 0] }),
        DongleQuirk(
            "hci-interface", .number(1...4), standard: "2", knownOf: "Apple, composite modules",
            allowedBy: "Core Vol 4, Part B, 2.2: interface numbers are not fixed",
            "has vendor-specific interfaces before those of HCI, which begin at this number",
            .descriptors { $0.firstInterface = UInt8($1.number) }),
        DongleQuirk(
            "extra-interfaces", .number(1...3), standard: "2", knownOf: "Broadcom, for diagnostics and firmware updates",
            allowedBy: "Core Vol 4, Part B, 2.2: more interfaces are allowed", "has more interfaces after those of HCI",
            .descriptors { $0.extraInterfaces = $1.number }),
        DongleQuirk(
            "other-endpoints", .number(2...10), standard: "4", knownOf: "no particular dongle",
            allowedBy: "Core Vol 4, Part B, 2.1: the addresses in the table are suggestions",
            "has other endpoint addresses: this number for events, the next ones for data and voice",
            .descriptors { $0.firstEndpoint = UInt8($1.number) }),
        DongleQuirk(
            "event-packet-size", .number(8...64), standard: "64", knownOf: "newer Realtek, MediaTek, Zephyr",
            allowedBy: "Core Vol 4, Part B, 2.1: the size in the table is a suggestion",
            "has another packet size at the interrupt endpoint",
            .descriptors { $0.interruptPacketSize = $1.number }),
        DongleQuirk(
            "event-interval", .number(0...32), standard: "8", knownOf: "cheap chips",
            allowedBy: "Core Vol 4, Part B, 2.4: an interval of 1 ms is recommended",
            "has another interval at the interrupt endpoint, in milliseconds; 0 is 125 us, at high speed",
            .descriptors { $0.interruptInterval = $1.number }),
        DongleQuirk(
            "serialised-mode", knownOf: "no particular dongle", allowedBy: "Core Vol 4, Part B, 7: the mode may be supported",
            "offers Bulk Serialization mode in alternate setting 1 of the HCI interface",
            .descriptors { descriptors, _ in descriptors.offersSerialisedMode = true }),
        DongleQuirk(
            "serialised-setting", .number(2...9), standard: "2", knownOf: "no particular dongle",
            "offers Bulk Serialization mode in another alternate setting than 1",
            .descriptors { ($0.offersSerialisedMode, $0.serialisedSetting) = (true, UInt8($1.number)) }),
        DongleQuirk(
            "no-association", knownOf: "early composite devices",
            "has no interface association descriptor, though it is a composite device",
            .descriptors { descriptors, _ in
                (descriptors.deviceClass, descriptors.hasAssociation) = ([0xEF, 0x02, 0x01], false)
            }),
        DongleQuirk(
            "high-speed", knownOf: "MediaTek, newer chips with Wi-Fi", allowedBy: "Core Vol 4, Part B, 2: high speed is allowed",
            "is a high-speed device with bulk packets of 512 octets",
            .descriptors { descriptors, _ in (descriptors.isHighSpeed, descriptors.bulkPacketSize) = (true, 512) }),
        DongleQuirk(
            "no-voice-interface", knownOf: "Zephyr, LE-only chips",
            allowedBy: "Core Vol 4, Part B, 2.1: isochronous endpoints are for voice", "has no isochronous interface for voice",
            .descriptors { descriptors, _ in descriptors.voicePacketSizes = [] }),
        DongleQuirk(
            "voice-alternates", .number(1...7), standard: "6", knownOf: "most dongles older than wide band speech",
            allowedBy: "Core Vol 4, Part B, 2.1.1: setting 6 is for wide band speech",
            "has only N alternate settings for voice", .descriptors { $0.voicePacketSizes = Array($0.voicePacketSizes.prefix($1.number)) }),
        DongleQuirk(
            "no-serial", knownOf: "many", allowedBy: "Core Vol 4, Part B, 2.1: a serial number is not required", "has no serial number",
            .descriptors { descriptors, _ in descriptors.hasSerialNumber = false }),
        DongleQuirk(
            "serial", .text, standard: "00E04C239987", knownOf: "Realtek, in all units",
            allowedBy: "Core Vol 4, Part B, 2.1: a serial number is not required", "has the same serial number as other dongles",
            .descriptors { $0.serialNumber = $1.word }),
        DongleQuirk(
            "strings-stall", knownOf: "cheap chips", allowedBy: "Core Vol 4, Part B, 2.1: string descriptors are not required",
            "has no string descriptors; requests for one stall", .descriptors { descriptors, _ in descriptors.hasStrings = false }),
        DongleQuirk(
            "amp-protocol", knownOf: "AMP controllers", "its interface protocol is 04, that of an AMP controller",
            .descriptors { descriptors, _ in
                (descriptors.deviceClass, descriptors.interfaceClass) = ([0xE0, 0x01, 0x04], [0xE0, 0x01, 0x04])
            }),
        DongleQuirk(
            "hid-proxy", knownOf: "CSR in receivers of keyboards, Logitech, Dell",
            "is a keyboard and a mouse (HID proxy) until it is switched to HCI",
            .descriptors { descriptors, _ in descriptors.isHIDProxy = true }),
    ]
}
