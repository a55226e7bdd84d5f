/// A dongle whose chip needs firmware before it works as a controller.
public enum BootModel: String, Sendable, CaseIterable {
    /// One of several patches, selected by the ROM version.
    case rtl8761b
    /// Sections of a patch, ordered by priority.
    case rtl8852b
    /// A boot loader whose file is named by hardware and firmware revisions.
    case intel
    /// A boot loader of a generation whose file is named by the device revision.
    case intel8260 = "intel-8260"
    /// A boot loader that reports its version as a TLV list.
    case intelAX210 = "intel-ax210"

    /// USB identifiers by which operating systems select their driver.
    public func descriptors(serialNumber: String) -> DongleDescriptors {
        let (vendor, product) = identity
        var descriptors = DongleDescriptors(
            vendorID: vendor, productID: product, product: "Virtual \(rawValue)", serialNumber: serialNumber)
        descriptors.takesCommandsOnBulk = vendor == Self.intelVendor
        return descriptors
    }

    private static let intelVendor: UInt16 = 0x8087

    private var identity: (UInt16, UInt16) {
        switch self {
        case .rtl8761b: (0x0BDA, 0x8771)
        case .rtl8852b: (0x0BDA, 0x887B)
        case .intel: (Self.intelVendor, 0x0029)
        case .intel8260: (Self.intelVendor, 0x0A2B)
        case .intelAX210: (Self.intelVendor, 0x0032)
        }
    }

    /// Firmware files that the boot ROM accepts, by their paths below a firmware folder. They contain only what the virtual ROM checks.
    public var madeFirmware: [MadeFirmware] {
        switch self {
        case .rtl8761b:
            let image = RealtekImageMaker(chip: .rtl8761b)
            return [
                MadeFirmware(name: "rtl_bt/rtl8761bu_fw.bin", octets: image.patches()),
                MadeFirmware(name: "rtl_bt/rtl8761bu_config.bin", octets: RealtekImageMaker.configuration([0xE4, 0x00, 0x01, 0x08])),
            ]
        case .rtl8852b: return [MadeFirmware(name: "rtl_bt/rtl8852bu_fw.bin", octets: RealtekImageMaker(chip: .rtl8852b).sections())]
        case .intel: return intelFirmware("ibt-20-1-3", IntelImageMaker())
        case .intel8260: return intelFirmware("ibt-11-5", IntelImageMaker())
        case .intelAX210: return intelFirmware("ibt-0041-0041", IntelImageMaker(hasSecondHeader: true))
        }
    }

    private func intelFirmware(_ stem: String, _ maker: IntelImageMaker) -> [MadeFirmware] {
        [
            MadeFirmware(name: "intel/\(stem).sfi", octets: maker.image()),
            MadeFirmware(name: "intel/\(stem).ddc", octets: [0x03, 0x2F, 0x01, 0x02, 0x04, 0x37, 0x01, 0x10, 0x27]),
        ]
    }

    /// Manufacturer and version that `madeFirmware` reports, over HCI and on the air.
    var loaded: (company: UInt16, subversion: UInt16) {
        switch self {
        case .rtl8761b, .rtl8852b:
            return (RealtekROM.company, UInt16(truncatingIfNeeded: RealtekImageMaker.rtl8761b.firmwareVersion))
        case .intel, .intel8260, .intelAX210:
            let build = IntelImageMaker().build
            return (IntelBootROM.company, UInt16(build.number) << 8 | UInt16(build.week))
        }
    }

    /// - Parameter hasFirmware: the firmware is already running, for chips whose boot loader reports it.
    func makeROM(hasFirmware: Bool = false) -> any BootROM {
        switch self {
        case .rtl8761b: RealtekROM(.rtl8761b)
        case .rtl8852b: RealtekROM(.rtl8852b)
        case .intel: IntelBootROM(.ax200, isRunning: hasFirmware)
        case .intel8260: IntelBootROM(.i8260, isRunning: hasFirmware)
        case .intelAX210: IntelBootROM(.ax210, isRunning: hasFirmware)
        }
    }
}

/// A generated firmware file.
public struct MadeFirmware: Sendable, Equatable {
    public var name: String
    public var octets: [UInt8]
}

/// CRC-32 as in Ethernet; the virtual boot ROMs check it instead of a signature.
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { rest, _ in rest & 1 == 1 ? rest >> 1 ^ 0xEDB8_8320 : rest >> 1 }
    }

    static func of(_ octets: some Sequence<UInt8>) -> UInt32 {
        var crc = ~UInt32(0)
        for octet in octets { crc = table[Int(UInt8(truncatingIfNeeded: crc) ^ octet)] ^ crc >> 8 }
        return ~crc
    }
}

extension [UInt8] {
    static func little(_ value: some FixedWidthInteger) -> [UInt8] {
        (0..<value.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    func little32(_ place: Int) -> UInt32 { self[place..<place + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) } }
}
