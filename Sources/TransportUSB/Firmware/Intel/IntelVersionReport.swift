import BBPackets

/// Version information of an Intel controller, in the fixed format of older generations or as the TLV list of newer ones.
struct IntelVersionReport: Sendable, Equatable {
    enum Mode: Equatable {
        case bootLoader
        case firmware
        /// Older than the boot loader generations: runs from ROM.
        case rom
    }

    /// File naming scheme of a generation.
    enum Naming: Equatable {
        /// The file is named by hardware variant and the device revision in the boot parameters.
        case byDeviceRevision
        case byRevisions
        /// The file is named by platform and radio identifiers.
        case byParts(platform: UInt16, radio: UInt16)
    }

    var mode: Mode
    var variant: UInt8
    var naming: Naming
    var hardwareRevision: UInt8 = 0
    var firmwareRevision: UInt8 = 0
    var build = "unknown"
    /// True if the boot loader acknowledges every fragment, which is required.
    var acknowledges = true
    /// Image header to use: 0 for RSA, 1 for ECDSA.
    var engine: UInt8 = 0

    static let platform: UInt8 = 0x37

    /// - Parameter octets: octets after the status.
    /// - Throws: `unsupported` with the reason.
    init(_ octets: [UInt8]) throws(FirmwareError) {
        if octets.count == 9, octets[0] == Self.platform, let version = try? Structures.IntelVersion(parameters: octets) {
            self = try Self(version)
        } else {
            self = try Self(list: octets)
        }
    }

    private init(_ version: Structures.IntelVersion) throws(FirmwareError) {
        variant = version.hardwareVariant
        hardwareRevision = version.hardwareRevision
        firmwareRevision = version.firmwareRevision
        build = Self.text(build: Int(version.build), week: version.buildWeek, year: version.buildYear)
        switch variant {
        case 0x07, 0x08:
            mode = .rom
            naming = .byRevisions
            return
        case 0x0B, 0x0C: naming = .byDeviceRevision
        case 0x11, 0x12, 0x13, 0x14: naming = .byRevisions
        default: throw .unsupported("Intel hardware variant \(variant) is not known; load its firmware with the operating system's driver")
        }
        switch version.firmwareVariant {
        case 0x06: mode = .bootLoader
        case 0x23: mode = .firmware
        default: throw .unsupported("Intel firmware variant \(version.firmwareVariant) is not known")
        }
    }

    /// A list of type, length and value.
    private init(list: [UInt8]) throws(FirmwareError) {
        var values: [UInt8: UInt32] = [:]
        var place = 0
        while place + 2 <= list.count {
            let end = place + 2 + Int(list[place + 1])
            guard end <= list.count else { break }
            values[list[place]] = list[place + 2..<end].prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
            place = end
        }
        guard let chip = values[0x12], UInt8(truncatingIfNeeded: chip >> 8) == Self.platform else {
            throw .unsupported("it answers like an Intel controller of an unknown platform")
        }
        variant = UInt8(truncatingIfNeeded: chip >> 16 & 0x3F)
        naming = .byParts(platform: Self.part(values[0x10] ?? 0), radio: Self.part(values[0x11] ?? 0))
        switch values[0x1C] {
        case 1: mode = .bootLoader
        case 3: mode = .firmware
        case let other: throw .unsupported("Intel image type \(other.map { "\($0)" } ?? "unknown") is not known")
        }
        guard (0x17...0x1C).contains(variant) || mode == .firmware else {
            throw .unsupported("Intel hardware variant \(variant) is not known; load its firmware with the operating system's driver")
        }
        let date = values[0x1D] ?? 0
        build = Self.text(build: Int(values[0x1F] ?? 0), week: UInt8(truncatingIfNeeded: date), year: UInt8(truncatingIfNeeded: date >> 8))
        acknowledges = values[0x2E, default: 0] == 0
        engine = UInt8(truncatingIfNeeded: values[0x2F] ?? 0)
    }

    /// Identifier as in file names: step in the low digit of the first octet, then the type.
    private static func part(_ value: UInt32) -> UInt16 {
        (UInt16(value & 0xFFF) << 4 | UInt16(value >> 24 & 0xF)).byteSwapped
    }

    private static func text(build: Int, week: UInt8, year: UInt8) -> String { "build \(build) of week \(week), \(2000 + Int(year))" }

    var chip: String {
        let names: [UInt8: String] = [
            0x07: "7260", 0x08: "7265", 0x0B: "8260", 0x0C: "8265", 0x11: "9460/9560", 0x12: "9260", 0x13: "AX201/AX203", 0x14: "AX200",
            0x17: "AX210", 0x18: "AX211", 0x19: "AX211", 0x1C: "BE200",
        ]
        return "Intel " + (names[variant] ?? "variant \(variant)")
    }

    /// - Parameter deviceRevision: device revision from the boot parameters.
    func need(deviceRevision: UInt16) -> FirmwareNeed {
        let stem =
            switch naming {
            case .byDeviceRevision: "\(variant)-\(deviceRevision)"
            case .byRevisions: "\(variant)-\(hardwareRevision)-\(firmwareRevision)"
            case .byParts(let platform, let radio): (hexadecimal(platform) + "-" + hexadecimal(radio)).lowercased()
            }
        return FirmwareNeed(maker: .intel, chip: chip, file: "intel/ibt-\(stem).sfi", companion: "intel/ibt-\(stem).ddc")
    }
}
