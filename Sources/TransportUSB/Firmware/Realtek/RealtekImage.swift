import BBPackets

/// A Realtek firmware file, and the part of it that one chip needs.
///
/// Two formats: `Realtech` is a table with one patch per ROM version; `RTBTCore` has sections whose parts are ordered by priority. Both end
/// with a list of records, read backwards from an end signature, that contains the project number of the file.
struct RealtekImage: Equatable {
    enum Format: Equatable {
        case plain
        case patches
        case sections
    }

    static let signature = Array("Realtech".utf8)
    static let sectionSignature = Array("RTBTCore".utf8)
    static let ending: [UInt8] = [0x51, 0x04, 0xFD, 0x77]
    static let configurationMagic: UInt32 = 0x8723_AB55
    /// Octets before the table of patches, and before the sections.
    static let patchHeader = 14
    static let sectionHeader = 20

    let octets: [UInt8]
    let format: Format

    /// Checks everything that does not depend on the ROM version.
    init(_ octets: [UInt8], for chip: RealtekChip) throws(FirmwareImageError) {
        self.octets = octets
        guard !octets.isEmpty else { throw .empty }
        let hasSignature = octets.starts(with: Self.signature) || octets.starts(with: Self.sectionSignature)
        guard !chip.hasPlainImage else {
            guard !hasSignature else { throw .signature }
            format = .plain
            return
        }
        guard hasSignature else { throw .signature }
        format = octets.starts(with: Self.signature) ? .patches : .sections
        let header = format == .patches ? Self.patchHeader : Self.sectionHeader
        let least = header + 3 + Self.ending.count
        guard octets.count >= least else { throw .tooShort(needs: least, has: octets.count) }
        guard octets.suffix(Self.ending.count).elementsEqual(Self.ending) else { throw .ending }
        guard let project = Self.project(octets, after: header) else { throw .noProject }
        guard project == chip.project else { throw .otherChip(project: Int(project), wanted: Int(chip.project)) }
    }

    /// The project number. Records before the end signature are stored backwards: data, length, kind. Kind 0 with one octet is the project
    /// number, kind 0xFF ends the list.
    private static func project(_ octets: [UInt8], after header: Int) -> UInt8? {
        var end = octets.count - ending.count
        while end - 3 >= header {
            let (kind, length) = (octets[end - 1], Int(octets[end - 2]))
            guard kind != 0xFF, length > 0, end - 2 - length >= header else { return nil }
            if kind == 0, length == 1 { return octets[end - 3] }
            end -= 2 + length
        }
        return nil
    }

    /// The octets to send to a chip with this ROM version.
    ///
    /// - Parameter key: key identifier of the signed parts to use; 0 for none. Only for sections.
    func payload(romVersion: UInt8, key: UInt8) throws(FirmwareImageError) -> [UInt8] {
        switch format {
        case .plain: octets
        case .patches: try patch(romVersion)
        case .sections: try sections(romVersion, key)
        }
    }

    /// Format `Realtech`: chip numbers, lengths, offsets. The last four octets of a patch are replaced by the version of the file.
    private func patch(_ romVersion: UInt8) throws(FirmwareImageError) -> [UInt8] {
        let count = Int(u16(12))
        let tables = Self.patchHeader
        guard tables + 8 * count + 3 + Self.ending.count <= octets.count else { throw .corrupt(offset: tables) }
        guard let index = (0..<count).first(where: { Int(u16(tables + 2 * $0)) == Int(romVersion) + 1 }) else {
            throw .noPatch(romVersion: Int(romVersion))
        }
        let length = Int(u16(tables + 2 * count + 2 * index))
        let offset = Int(u32(tables + 4 * count + 4 * index))
        guard length >= 8, offset >= tables + 8 * count, offset + length <= octets.count else { throw .corrupt(offset: offset) }
        return Array(octets[offset..<offset + length - 4] + octets[8..<12])
    }

    /// Format `RTBTCore`: snippets (1), dummies (2) and security headers (3). Parts for this ROM version are sent by priority.
    private func sections(_ romVersion: UInt8, _ key: UInt8) throws(FirmwareImageError) -> [UInt8] {
        let end = octets.count - 3 - Self.ending.count
        var parts: [(priority: UInt8, octets: ArraySlice<UInt8>)] = []
        var place = Self.sectionHeader
        for _ in 0..<u32(16) {
            guard place + 8 <= end else { throw .corrupt(offset: place) }
            let (kind, length) = (u32(place), Int(u32(place + 4)))
            guard length <= end - place - 8 else { throw .corrupt(offset: place) }
            if (1...3).contains(kind), kind != 3 || key != 0 {
                for part in try self.parts(of: place + 8..<place + 8 + length, romVersion, signedBy: kind == 3 ? key : nil) {
                    // With equal priority, the later part is sent first.
                    parts.insert(part, at: parts.firstIndex { $0.priority >= part.priority } ?? parts.endIndex)
                }
            }
            place += 8 + length
        }
        guard !parts.isEmpty else { throw .noPatch(romVersion: Int(romVersion)) }
        return parts.flatMap(\.octets)
    }

    private func parts(
        of section: Range<Int>, _ romVersion: UInt8, signedBy key: UInt8?
    ) throws(FirmwareImageError) -> [(priority: UInt8, octets: ArraySlice<UInt8>)] {
        guard section.count >= 4 else { throw .corrupt(offset: section.lowerBound) }
        var parts: [(priority: UInt8, octets: ArraySlice<UInt8>)] = []
        var place = section.lowerBound + 4
        for _ in 0..<u16(section.lowerBound) {
            guard place + 8 <= section.upperBound else { throw .corrupt(offset: place) }
            let length = Int(u32(place + 4))
            guard length <= section.upperBound - place - 8 else { throw .corrupt(offset: place) }
            let isWanted = Int(octets[place]) == Int(romVersion) + 1 && (key == nil || octets[place + 2] == key)
            if isWanted { parts.append((octets[place + 1], octets[place + 8..<place + 8 + length])) }
            place += 8 + length
        }
        return parts
    }

    /// Checks that a configuration file starts with its magic number and the length of the rest.
    static func checkConfiguration(_ octets: [UInt8]) throws(FirmwareImageError) {
        guard octets.count >= 6, little(octets, 0, 4) == configurationMagic, Int(little(octets, 4, 2)) <= octets.count - 6 else {
            throw .configuration
        }
    }

    private func u16(_ place: Int) -> UInt16 { UInt16(Self.little(octets, place, 2)) }
    private func u32(_ place: Int) -> UInt32 { Self.little(octets, place, 4) }

    private static func little(_ octets: [UInt8], _ place: Int, _ count: Int) -> UInt32 {
        octets[place..<place + count].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
