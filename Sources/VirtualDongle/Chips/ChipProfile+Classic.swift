import Misbehaviour
import Packets

extension ChipProfile {
    /// Supported_Commands of a CSR chip of version 4.0.
    private static let csrCommands = hex("FFFFFF03FEFFFFFFFFFFFFFFF30FE8FE3FF783FF1C00000061F7FFFF7F")
    private static let csrFeatures: UInt64 = 0x875B_FFDB_FE8F_FFFF

    static let csr8510: ChipProfile = {
        var chip = ChipProfile(
            name: "csr8510", title: "CSR8510 A10, genuine, 4.0", vendorID: 0x0A12, productID: 0x0001, release: 0x8891)
        chip.version = Version(hci: 6, hciSubversion: 0x22BB, lmp: 6, company: 10, lmpSubversion: 0x22BB)
        (chip.commands, chip.leFeatures, chip.lmpFeatures) = (csrCommands, 1, csrFeatures)
        chip.states = 0x1FFF_FFFF
        (chip.acl, chip.voice, chip.le, chip.acceptList) = (Buffers(310, 10), Buffers(64, 8), nil, 25)
        chip.switches = [
            "no-serial", "voice-alternates=6", "exact-event-reads", "one-le-role", "max-links=5", "reserved-mask-refused",
            "credits-one-by-one", "reset-slow=115-134", "answer-slow=1-3", "vendor-event-only", "address-command=csr",
            "refuses=Write_Synchronous_Flow_Control_Enable/0x11",
        ]
        return chip
    }()

    static let csrClone: ChipProfile = {
        var chip = ChipProfile(name: "csr-clone", title: "CSR clone, says 5.0", vendorID: 0x0A12, productID: 0x0001, release: 0x2520)
        chip.version = Version(hci: 9, hciSubversion: 0x3120, lmp: 9, company: 10, lmpSubversion: 0x22BB)
        (chip.commands, chip.leFeatures, chip.lmpFeatures) = (csrCommands, 1, csrFeatures)
        chip.states = 0x1FFF_FFFF
        (chip.acl, chip.voice, chip.le, chip.acceptList) = (Buffers(310, 10), Buffers(64, 8), nil, 25)
        chip.switches = [
            "no-serial", "voice-alternates=6", "exact-event-reads", "one-le-role", "max-links=5", "shared-address",
            "address-command-lies=csr", "no-stored-link-key", "no-erroneous-data-reporting", "event-filter-locks", "no-voice-setting",
            "no-page-scan-type", "no-simultaneous-discovery", "answer-slow=1-3",
        ]
        return chip
    }()

    static let barrot: ChipProfile = {
        var chip = ChipProfile(name: "barrot", title: "Barrot 8041A02", vendorID: 0x33FA, productID: 0x0010, release: 0x0100)
        chip.version = Version(hci: 9, hciSubversion: 0x0810, lmp: 9, company: 2_279, lmpSubversion: 0x1012)
        (chip.acl, chip.voice, chip.le) = (Buffers(1_021, 6), Buffers(64, 8), Buffers(251, 6))
        chip.switches = [
            "voice-alternates=6", "stray-octet", "second-open-deaf", "silent-voice=1", "no-enhanced-synchronous", "reset-slow=300-600",
        ]
        return chip
    }()

    static let actions: ChipProfile = {
        var chip = ChipProfile(name: "actions", title: "Actions ATS2851", vendorID: 0x10D7, productID: 0xB012, release: 0x8891)
        chip.version = Version(hci: 0x0C, hciSubversion: 0x0001, lmp: 0x0C, company: 992, lmpSubversion: 0x0001)
        (chip.acl, chip.voice, chip.le) = (Buffers(1_021, 4), Buffers(64, 4), Buffers(251, 4))
        chip.switches = [
            "voice-alternates=6", "no-erroneous-data-reporting", "no-transmit-power", "no-ext-scan", "no-ext-create", "no-rpa-timeout",
            "no-encryption-key-size", "payload-timeout-breaks-pairing",
        ]
        return chip
    }()

    static let broadcom: ChipProfile = {
        var chip = ChipProfile(
            name: "broadcom", title: "BCM20702A1, 4.0", vendorID: 0x0A5C, productID: 0x21E8, release: 0x0112,
            manufacturer: "Broadcom Corp", product: "BCM20702A0")
        chip.version = Version(hci: 6, hciSubversion: 0x1000, lmp: 6, company: 15, lmpSubversion: 0x220E)
        (chip.leFeatures, chip.acl, chip.voice, chip.le) = (1, Buffers(1_021, 8), Buffers(64, 1), Buffers(27, 15))
        // Verbose configuration with chip number, controller features, and vendor and product of the USB device.
        chip.vendorReturns = [
            0xFC79: [63, 0, 0, 0, 0, 0], 0xFC6E: [UInt8](repeating: 0, count: 8), 0xFC5A: [0x5C, 0x0A, 0xE8, 0x21],
        ]
        chip.switches = ["vendor-interface", "extra-interfaces=2", "voice-alternates=6", "second-open-deaf", "address-command=broadcom"]
        return chip
    }()

    static let appleBroadcom: ChipProfile = {
        var chip = ChipProfile(
            name: "apple-broadcom", title: "Broadcom for Apple, 5.0", vendorID: 0x05AC, productID: 0x8290, release: 0x0128,
            manufacturer: "Apple Inc.", product: "Bluetooth USB Host Controller")
        chip.version = Version(hci: 9, hciSubversion: 0x00AB, lmp: 9, company: 15, lmpSubversion: 0x1111)
        chip.commands = hex(
            "FFFFFF03CCFFEFFFFFFFFC1FF20FE8FE3FF78FFF1C00040061F7FFFF7FF8FFFFFFFFFFFFFFFFFFFF070008")
        (chip.leFeatures, chip.lmpFeatures, chip.states) = (0x0801_79EF, 0x877B_FFDB_FECF_FEBF, 0x3FF_FFFF_FFFF)
        (chip.acl, chip.voice, chip.le) = (Buffers(1_021, 12), Buffers(64, 1), Buffers(251, 15))
        (chip.acceptList, chip.resolvingList, chip.advertisingSets, chip.advertisingData) = (128, 128, 16, 1_024)
        chip.vendorReturns = broadcom.vendorReturns.merging([0xFC5A: [0xAC, 0x05, 0x90, 0x82]]) { $1 }
        chip.switches = [
            "vendor-interface", "hci-interface=2", "no-serial", "reserved-phy-bits", "reserved-report-bits", "no-mws-transport",
            "no-transmit-power", "vendor-events",
        ]
        return chip
    }()

    static func hex(_ text: String) -> [UInt8] { QuirkValue.Kind.octets.read(text)?.octets ?? [] }
}
