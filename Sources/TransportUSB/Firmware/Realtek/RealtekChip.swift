import BBPackets

/// A Realtek USB chip, identified by the version information of its ROM.
struct RealtekChip: Sendable, Equatable {
    var name: String
    var lmpSubversion: UInt16
    var hciSubversion: UInt16
    /// Zero matches any version.
    var hciVersion: UInt8
    /// Project number in the chip's images.
    var project: UInt8
    /// Stem of its file names below `rtl_bt`.
    var stem: String
    /// True if the chip does not work without its configuration file.
    var needsConfiguration = false
    var hasROMVersion = true
    /// True if the image is sent to the chip unchanged.
    var hasPlainImage = false

    var need: FirmwareNeed {
        FirmwareNeed(
            maker: .realtek, chip: name, file: "rtl_bt/\(stem)_fw.bin",
            companion: hasPlainImage ? nil : "rtl_bt/\(stem)_config.bin", isCompanionRequired: needsConfiguration)
    }

    static let all: [RealtekChip] = [
        RealtekChip(
            name: "RTL8723A", lmpSubversion: 0x1200, hciSubversion: 0x0B, hciVersion: 0x06, project: 0, stem: "rtl8723a",
            hasROMVersion: false, hasPlainImage: true),
        RealtekChip(name: "RTL8723B", lmpSubversion: 0x8723, hciSubversion: 0x0B, hciVersion: 0x06, project: 1, stem: "rtl8723b"),
        RealtekChip(
            name: "RTL8723D", lmpSubversion: 0x8723, hciSubversion: 0x0D, hciVersion: 0x08, project: 9, stem: "rtl8723d",
            needsConfiguration: true),
        RealtekChip(name: "RTL8821A", lmpSubversion: 0x8821, hciSubversion: 0x0A, hciVersion: 0x06, project: 2, stem: "rtl8821a"),
        RealtekChip(name: "RTL8821C", lmpSubversion: 0x8821, hciSubversion: 0x0C, hciVersion: 0x08, project: 10, stem: "rtl8821c"),
        RealtekChip(name: "RTL8761A", lmpSubversion: 0x8761, hciSubversion: 0x0A, hciVersion: 0x06, project: 3, stem: "rtl8761a"),
        RealtekChip(name: "RTL8761BU", lmpSubversion: 0x8761, hciSubversion: 0x0B, hciVersion: 0x0A, project: 14, stem: "rtl8761bu"),
        RealtekChip(name: "RTL8761CU", lmpSubversion: 0x8761, hciSubversion: 0x0E, hciVersion: 0, project: 51, stem: "rtl8761cu"),
        RealtekChip(name: "RTL8822CU", lmpSubversion: 0x8822, hciSubversion: 0x0C, hciVersion: 0x0A, project: 13, stem: "rtl8822cu"),
        RealtekChip(
            name: "RTL8822B", lmpSubversion: 0x8822, hciSubversion: 0x0B, hciVersion: 0x07, project: 8, stem: "rtl8822b",
            needsConfiguration: true),
        RealtekChip(name: "RTL8852AU", lmpSubversion: 0x8852, hciSubversion: 0x0A, hciVersion: 0x0B, project: 18, stem: "rtl8852au"),
        RealtekChip(name: "RTL8852BU", lmpSubversion: 0x8852, hciSubversion: 0x0B, hciVersion: 0x0B, project: 20, stem: "rtl8852bu"),
        RealtekChip(name: "RTL8852CU", lmpSubversion: 0x8852, hciSubversion: 0x0C, hciVersion: 0x0C, project: 25, stem: "rtl8852cu"),
        RealtekChip(name: "RTL8851BU", lmpSubversion: 0x8851, hciSubversion: 0x0B, hciVersion: 0x0C, project: 36, stem: "rtl8851bu"),
        RealtekChip(name: "RTL8922AU", lmpSubversion: 0x8922, hciSubversion: 0x0A, hciVersion: 0x0C, project: 44, stem: "rtl8922au"),
        RealtekChip(name: "RTL8852BTU", lmpSubversion: 0x8852, hciSubversion: 0x87, hciVersion: 0x0C, project: 47, stem: "rtl8852btu"),
    ]

    /// The chip with this ROM version; nil if firmware is already running or the chip is unknown.
    static func find(_ version: HCICommands.ReadLocalVersionInformation.Return) -> RealtekChip? {
        all.first {
            $0.lmpSubversion == version.lmpSubversion && $0.hciSubversion == version.hciSubversion
                && ($0.hciVersion == 0 || $0.hciVersion == version.hciVersion)
        }
    }

    static func name(ofProject project: Int) -> String {
        all.first { Int($0.project) == project }?.name ?? "the chip of project \(project)"
    }
}
