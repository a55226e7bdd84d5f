/// Generates firmware files in Realtek's formats. Their patches contain what the virtual ROM checks: chip, length and CRC.
public struct RealtekImageMaker: Sendable {
    public static let rtl8761b = RealtekImageMaker(chip: .rtl8761b)
    public static let rtl8852b = RealtekImageMaker(chip: .rtl8852b)
    /// An older chip that differs only by its project number.
    public static let rtl8761a = RealtekImageMaker(chip: .rtl8761a)

    /// Version that the firmware will report.
    public var firmwareVersion: UInt32 = 0xDFC6_D922
    /// Octets of each patch; 40,000 make the fragment index wrap around.
    public var patchLength = 40_000
    /// ROM versions with a patch.
    public var romVersions: [UInt8] = [0, 1]

    let chip: RealtekROM.Chip

    init(chip: RealtekROM.Chip) { self.chip = chip }

    private static let magic = Array("BBFW".utf8)
    private static let ending: [UInt8] = [0x51, 0x04, 0xFD, 0x77]
    private static let leastPatch = 28

    /// A patch without the version that the host writes into its last four octets.
    func patch(romVersion: UInt8) -> [UInt8] {
        let body = max(patchLength, Self.leastPatch) - 12
        var octets = Self.magic + [chip.project, romVersion + 1, 0, 0] + .little(UInt32(body + 12))
        while octets.count < body { octets.append(UInt8(truncatingIfNeeded: octets.count &* 167 &+ octets.count >> 8)) }
        return octets + .little(CRC32.of(octets)) + .little(UInt32(7)) + [0, 0, 0, 0]
    }

    /// A file with a table of patches, for `RTL8761B` and related chips.
    public func patches() -> [UInt8] {
        let patches = romVersions.map { patch(romVersion: $0) }
        var place = 14 + 8 * patches.count
        let chips = romVersions.flatMap { [UInt8].little(UInt16($0) + 1) }
        let lengths = patches.flatMap { [UInt8].little(UInt16($0.count)) }
        let offsets = patches.flatMap { patch in
            defer { place += patch.count }
            return [UInt8].little(UInt32(place))
        }
        let header = Array("Realtech".utf8) + .little(firmwareVersion) + .little(UInt16(patches.count))
        return header + chips + lengths + offsets + patches.flatMap { $0 } + records
    }

    /// A file with sections, for newer chips. The parts are not stored in the order in which they are sent.
    public func sections() -> [UInt8] {
        var parts: [UInt8] = []
        for romVersion in romVersions.reversed() {
            let whole = Array(patch(romVersion: romVersion).dropLast(4)) + .little(firmwareVersion)
            let cut = whole.count / 3
            for (priority, octets) in [(UInt8(9), whole[(2 * cut)...]), (1, whole[..<cut]), (4, whole[cut..<2 * cut])] {
                parts += [romVersion + 1, priority, 0, 0] + .little(UInt32(octets.count)) + octets
            }
        }
        let snippets = .little(UInt16(3 * romVersions.count)) + [0, 0] + parts
        let signed: [UInt8] = .little(UInt16(1)) + [0, 0, chip.romVersion + 1, 0, 5, 0] + .little(UInt32(4)) + [1, 2, 3, 4]
        let sections: [UInt8] =
            .little(UInt32(1)) + .little(UInt32(snippets.count)) + snippets + .little(UInt32(3)) + .little(UInt32(signed.count)) + signed
        return Array("RTBTCore".utf8) + .little(firmwareVersion) + [0, 0, 0, 0] + .little(UInt32(2)) + sections + records
    }

    /// The project number record and the end signature.
    private var records: [UInt8] { [chip.project, 1, 0] + Self.ending }

    /// A configuration file of entries: two-octet offset, length, and value.
    public static func configuration(_ settings: [UInt8]) -> [UInt8] {
        .little(UInt32(0x8723_AB55)) + .little(UInt16(settings.count)) + settings
    }

    /// Version of a downloaded patch if it is complete and for this chip, with or without a configuration; nil otherwise.
    static func version(of octets: [UInt8], _ chip: RealtekROM.Chip) -> UInt32? {
        guard octets.count >= leastPatch, octets.starts(with: magic), octets[4] == chip.project, octets[5] == chip.romVersion + 1 else {
            return nil
        }
        let length = Int(octets.little32(8))
        guard length >= leastPatch, length <= octets.count, CRC32.of(octets[..<(length - 12)]) == octets.little32(length - 12) else {
            return nil
        }
        let settings = Array(octets[length...])
        guard isFiller(settings) || isConfiguration(settings) else { return nil }
        return octets.little32(length - 4)
    }

    private static func isConfiguration(_ octets: [UInt8]) -> Bool {
        guard octets.count >= 6, octets.little32(0) == 0x8723_AB55 else { return false }
        let end = 6 + Int(octets[4]) + Int(octets[5]) << 8
        return end <= octets.count && isFiller(octets[end...])
    }

    /// True for zeros: some hosts pad the last fragment.
    private static func isFiller(_ octets: some Collection<UInt8>) -> Bool {
        octets.count < RealtekROM.fragmentLength && octets.allSatisfy { $0 == 0 }
    }
}
