import Misbehaviour

extension DongleQuirk {
    /// USB descriptors.
    static let descriptorQuirks: [DongleQuirk] = [
        DongleQuirk(
            "usb-id", .identity, knownOf: "every maker", allowedBy: "Core Vol 4, Part B, 2.1: vendor and product are the maker's",
            "has another vendor and product number", .descriptors { if let id = $1.identity { ($0.vendorID, $0.productID) = id } }),
        DongleQuirk(
            "usb-release", .number(0...0xFFFF), knownOf: "every maker", allowedBy: "Core Vol 4, Part B, 2.1: the release is the maker's",
            "has another release number, bcdDevice", .descriptors { $0.release = UInt16($1.number) }),
        DongleQuirk(
            "vendor-interface", knownOf: "Broadcom's customers, Apple", "its interfaces are of a vendor's class, FF/01/01",
            .descriptors { descriptors, _ in
                (descriptors.deviceClass, descriptors.interfaceClass) = ([0xFF, 0x01, 0x01], [0xFF, 0x01, 0x01])
            }),
        DongleQuirk(
            "composite", .choice(["ef", "00"]), standard: "ef", knownOf: "Intel, MediaTek, Zephyr, modules of laptops",
            allowedBy: "Core Vol 4, Part B, 2.2: Bluetooth may be one function of several",
            "the device has the class of composite ones; only the interfaces say Bluetooth",
            .descriptors { $0.deviceClass = $1.word == "ef" ? [0xEF, 0x02, 0x01] : [0, 0, 0] }),
        DongleQuirk(
            "hci-interface", .number(1...4), standard: "2", knownOf: "Apple, composite modules",
            allowedBy: "Core Vol 4, Part B, 2.2: the numbers of interfaces are free",
            "HCI is not on interface 0; a vendor's interfaces stand before it", .descriptors { $0.firstInterface = UInt8($1.number) }),
        DongleQuirk(
            "extra-interfaces", .number(1...3), standard: "2", knownOf: "Broadcom: diagnostics, and firmware update",
            allowedBy: "Core Vol 4, Part B, 2.2: further interfaces are free", "has further interfaces behind those of HCI",
            .descriptors { $0.extraInterfaces = $1.number }),
        DongleQuirk(
            "other-endpoints", .number(2...10), standard: "4", knownOf: "none promised",
            allowedBy: "Core Vol 4, Part B, 2.1: the addresses in its table are suggestions",
            "its endpoints have other addresses: events from this number on, then data and voice",
            .descriptors { $0.firstEndpoint = UInt8($1.number) }),
        DongleQuirk(
            "event-packet-size", .number(8...64), standard: "64", knownOf: "newer Realtek, MediaTek, Zephyr",
            allowedBy: "Core Vol 4, Part B, 2.1: the size in its table is a suggestion", "events come in larger or smaller packets",
            .descriptors { $0.interruptPacketSize = $1.number }),
        DongleQuirk(
            "high-speed", knownOf: "MediaTek, newer combined parts", allowedBy: "Core Vol 4, Part B, 2: high speed is allowed",
            "is a high-speed device: 512 octets on bulk",
            .descriptors { descriptors, _ in (descriptors.isHighSpeed, descriptors.bulkPacketSize) = (true, 512) }),
        DongleQuirk(
            "no-voice-interface", knownOf: "Zephyr, parts for LE alone",
            allowedBy: "Core Vol 4, Part B, 2.1: isochronous endpoints are for voice", "has no interface for voice",
            .descriptors { descriptors, _ in descriptors.voicePacketSizes = [] }),
        DongleQuirk(
            "voice-alternates", .number(1...7), standard: "6", knownOf: "most from before wide band speech",
            allowedBy: "Core Vol 4, Part B, 2.1.1: setting 6 is for wide band speech",
            "has only N settings for voice", .descriptors { $0.voicePacketSizes = Array($0.voicePacketSizes.prefix($1.number)) }),
        DongleQuirk(
            "no-serial", knownOf: "many", allowedBy: "Core Vol 4, Part B, 2.1: a serial number is not asked for", "has no serial number",
            .descriptors { descriptors, _ in descriptors.hasSerialNumber = false }),
        DongleQuirk(
            "serial", .text, standard: "00E04C239987", knownOf: "Realtek: all units the same",
            allowedBy: "Core Vol 4, Part B, 2.1: a serial number is not asked for", "has a serial number that others have, too",
            .descriptors { $0.serialNumber = $1.word }),
        DongleQuirk(
            "strings-stall", knownOf: "cheap parts", allowedBy: "Core Vol 4, Part B, 2.1: strings are not asked for",
            "has no strings: asking for one stalls", .descriptors { descriptors, _ in descriptors.hasStrings = false }),
        DongleQuirk(
            "amp-protocol", knownOf: "AMP controllers", "its protocol is 04: no Bluetooth controller of today",
            .descriptors { descriptors, _ in
                (descriptors.deviceClass, descriptors.interfaceClass) = ([0xE0, 0x01, 0x04], [0xE0, 0x01, 0x04])
            }),
        DongleQuirk(
            "hid-proxy", knownOf: "CSR in keyboards' receivers, Logitech, Dell", "is a keyboard and a mouse until it is switched over",
            .descriptors { descriptors, _ in descriptors.isHIDProxy = true }),
    ]
}
