extension ChipProfile {
    /// All chips that a virtual dongle can emulate.
    public static let all: [ChipProfile] =
        [
            broadcom, appleBroadcom, qualcomm, mediatek, realtekROM, realtek, intelBoot, intel, csr8510, csrClone, barrot, actions,
            nrf52Zephyr,
            packetcraft,
        ] + BootModel.allCases.compactMap { waiting(for: $0) }

    static let qualcomm: ChipProfile = {
        var chip = ChipProfile(name: "qualcomm", title: "Qualcomm, 5.0", vendorID: 0x0CF3, productID: 0xE300, release: 0x0001)
        chip.version = Version(hci: 9, hciSubversion: 0, lmp: 9, company: 29, lmpSubversion: 0x02BE)
        chip.commands = hex("FFFFFF03CEFFEFFFFFFFFF7FF20FE8FE3FF783FF1C00000061FFFFFF7FBE20F5FFF0FFFFFFFFFF07")
        (chip.leFeatures, chip.lmpFeatures, chip.states) = (0x7DFF, 0x875B_3FD8_FE8F_FEFF, 0x3FF_FFFF_FFFF)
        (chip.acl, chip.voice, chip.le) = (Buffers(1_024, 7), Buffers(60, 8), Buffers(251, 16))
        (chip.acceptList, chip.resolvingList, chip.advertisingSets) = (128, 32, 16)
        chip.switches = ["no-serial", "acl-debug", "wrong-opcode", "vendor-events", "no-enhanced-synchronous", "address-command=qualcomm"]
        return chip
    }()

    static let mediatek: ChipProfile = {
        var chip = ChipProfile(
            name: "mediatek", title: "MediaTek MT7921 without its firmware", vendorID: 0x0E8D, productID: 0x7961, release: 0x0100,
            manufacturer: "MediaTek Inc.", product: "Wireless_Device")
        chip.version = Version(hci: 0x0B, hciSubversion: 0, lmp: 0x0B, company: 70, lmpSubversion: 0)
        (chip.acl, chip.voice, chip.le) = (Buffers(1_021, 6), Buffers(184, 1), Buffers(251, 8))
        chip.isDualMode = false
        chip.switches = ["composite", "high-speed", "event-packet-size=16", "zero-address", "deaf-rom", "no-enhanced-synchronous"]
        return chip
    }()

    /// The ROM works as a controller that receives nothing until a patch is loaded.
    static let realtekROM: ChipProfile = {
        var chip = ChipProfile(
            name: "realtek-rom", title: "RTL8761BU without its firmware", vendorID: 0x0BDA, productID: 0x8771, release: 0x0200,
            manufacturer: "Realtek", product: "Bluetooth Radio")
        (chip.boot, chip.worksWithoutFirmware) = (.rtl8761b, true)
        (chip.acl, chip.voice, chip.le) = (Buffers(1_021, 6), Buffers(255, 12), Buffers(27, 8))
        chip.switches = ["serial", "command-credits=2"]
        return chip
    }()

    static let realtek: ChipProfile = {
        var chip = ChipProfile(
            name: "realtek", title: "RTL8761BU with its firmware, 5.1", vendorID: 0x0BDA, productID: 0x8771, release: 0x0200,
            manufacturer: "Realtek", product: "Bluetooth Radio")
        chip.version = Version(hci: 0x0A, hciSubversion: 0xDFC6, lmp: 0x0A, company: 93, lmpSubversion: 0xD922)
        chip.commands = hex("FFFFFF03CCFFFFFF3FFFFC9FF30FE8FE3FE78FFF1C00000061F7FFFF7F00E0FFF7C007F8FFE38003")
        (chip.leFeatures, chip.lmpFeatures, chip.states) = (0x0066_5FBD, 0x877B_FDDB_FEFF_FFFF, 0x3FF_FFFF_FFFF)
        (chip.acl, chip.voice, chip.le) = (Buffers(1_021, 6), Buffers(255, 12), Buffers(27, 8))
        (chip.acceptList, chip.advertisingSets) = (32, 4)
        chip.switches = ["serial", "command-credits=2", "first-reset-unanswered", "set-terminated-after-disable", "max-links=7"]
        return chip
    }()

    static let intelBoot = waiting(for: .intel, named: "intel-boot") ?? intel

    static let intel: ChipProfile = {
        var chip = ChipProfile(
            name: "intel", title: "Intel AX200 with its firmware", vendorID: 0x8087, productID: 0x0029, release: 0x0001)
        (chip.boot, chip.hasFirmware) = (.intel, true)
        chip.version = Version(hci: 0x0B, hciSubversion: 0x030C, lmp: 0x0B, company: 2, lmpSubversion: 0x030C)
        (chip.acl, chip.voice, chip.le) = (Buffers(1_021, 4), Buffers(96, 6), Buffers(251, 3))
        chip.switches = ["composite", "no-serial", "data-overtakes-events=1-8", "strict-duplicates", "coded-deaf", "address-command=intel"]
        return chip
    }()

    static let nrf52Zephyr: ChipProfile = {
        var chip = ChipProfile(
            name: "nrf52-zephyr", title: "nRF52840 with Zephyr's controller", vendorID: 0x2FE3, productID: 0x000B, release: 0x0306,
            manufacturer: "ZEPHYR", product: "Zephyr HCI BT")
        chip.version = Version(hci: 0x0D, hciSubversion: 0x0003, lmp: 0x0D, company: 0x05F1, lmpSubversion: 0xFFFF)
        chip.isDualMode = false
        (chip.le, chip.advertisingSets, chip.advertisingData) = (Buffers(251, 3), 1, 191)
        chip.switches = [
            "composite", "no-voice-interface", "event-packet-size=64", "zero-address", "completed-packets-masked",
            "data-overtakes-events=4-11",
            "suggested-length-ignored", "host-completed-refused", "address-command=zephyr",
        ]
        return chip
    }()

    static let packetcraft: ChipProfile = {
        var chip = ChipProfile(
            name: "packetcraft", title: "PacketCraft's controller on a BL654", vendorID: 0x1915, productID: 0x521F, release: 0x0100)
        chip.version = Version(hci: 0x0B, hciSubversion: 0x0001, lmp: 0x0B, company: 0x07E8, lmpSubversion: 0x5244)
        chip.isDualMode = false
        (chip.le, chip.advertisingSets) = (Buffers(251, 8), 6)
        chip.switches = ["no-voice-interface", "encryption-change-masked", "past-needs-features"]
        return chip
    }()

    /// A chip that needs firmware, named like its model or otherwise.
    private static func waiting(for model: BootModel, named name: String? = nil) -> ChipProfile? {
        guard name != nil || model != .intel else { return nil }
        let descriptors = model.descriptors(serialNumber: "")
        var chip = ChipProfile(
            name: name ?? model.rawValue, title: "\(model.rawValue), waits for its firmware", vendorID: descriptors.vendorID,
            productID: descriptors.productID, release: 0x0001)
        chip.boot = model
        return chip
    }
}
