import BBPackets

/// Identity and capabilities that a dongle reports over HCI.
public struct DongleIdentity: Sendable, Equatable {
    /// HCI_Version of the assigned numbers; 0x0D is Core 5.4.
    public var hciVersion: UInt8 = 0
    /// HCI_Subversion, called HCI_Revision in earlier specifications.
    public var hciSubversion: UInt16 = 0
    public var lmpVersion: UInt8 = 0
    public var lmpSubversion: UInt16 = 0
    public var company: UInt16 = 0
    /// Result of Read_BD_ADDR, even if all zeros; nil if there was no answer.
    public var address: DeviceAddress?
    public var lmpFeatures: UInt64 = 0
    public var leFeatures: UInt64 = 0
    public var aclLength: UInt16 = 0
    public var aclCount: UInt16 = 0
    /// Zero if LE shares the buffers of BR/EDR.
    public var leLength: UInt16 = 0
    public var leCount: UInt8 = 0
    /// Supported_Commands; empty if there was no answer.
    public var supportedCommands: [UInt8] = []
    public var scoLength: UInt8 = 0
    public var scoCount: UInt16 = 0

    public init() {}

    public var hasBREDR: Bool { HCICommands.ReadLocalSupportedFeatures.Return(lmpFeatures: lmpFeatures).supportsClassic }
    public var hasLE: Bool { HCICommands.ReadLocalSupportedFeatures.Return(lmpFeatures: lmpFeatures).supportsLE }

    /// Version of the Core Specification as text.
    public var coreVersion: String { Self.coreVersion(hciVersion) }

    static func coreVersion(_ number: UInt8) -> String {
        let names = [
            "1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3", "5.4", "6.0", "6.1", "6.2",
        ]
        return names.indices.contains(Int(number)) ? names[Int(number)] : "\(number)"
    }

    /// Manufacturer of the chip; unknown ones by number.
    public var chip: String {
        let makers: [UInt16: String] = [
            0x0002: "Intel", 0x000A: "Qualcomm (CSR)", 0x000D: "Texas Instruments", 0x000F: "Broadcom", 0x001D: "Qualcomm", 0x0030: "ST",
            0x0046: "MediaTek", 0x0048: "Marvell", 0x0059: "Nordic Semiconductor", 0x005D: "Realtek", 0x0131: "Infineon (Cypress)",
            0x05F1: "Zephyr",
        ]
        return (makers[company] ?? "company \(company)") + " \(Hex.number(lmpSubversion).dropFirst(2))"
    }
}
