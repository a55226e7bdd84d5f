import BBPackets
import BBTiming
import BBVirtualDongle
import Foundation
import Testing

@testable import BBTransportUSB

/// Parsing of files and answers, without a dongle.
@Suite struct FirmwareFormatTests {
    private static func chip(_ name: String) throws -> RealtekChip { try #require(RealtekChip.all.first { $0.name == name }) }

    /// By hand: two patches, the second for ROM version 1.
    @Test func aTableOfPatchesGivesTheOneOfTheROM() throws {
        let patches: [[UInt8]] = [Array(0..<8), Array(100..<112)]
        let header: [UInt8] =
            Array("Realtech".utf8) + [0x44, 0x33, 0x22, 0x11, 2, 0] + [1, 0, 2, 0] + [8, 0, 12, 0] + [30, 0, 0, 0] + [38, 0, 0, 0]
        let file = FirmwareBench.closed(header + patches.joined())
        let image = try RealtekImage(file, for: try Self.chip("RTL8761BU"))
        #expect(try image.payload(romVersion: 0, key: 0) == [0, 1, 2, 3, 0x44, 0x33, 0x22, 0x11])
        #expect(try image.payload(romVersion: 1, key: 0) == [100, 101, 102, 103, 104, 105, 106, 107, 0x44, 0x33, 0x22, 0x11])
        #expect(throws: FirmwareImageError.noPatch(romVersion: 2)) { try image.payload(romVersion: 2, key: 0) }
        #expect(throws: FirmwareImageError.noPatch(romVersion: 255)) { try image.payload(romVersion: 255, key: 0) }
    }

    /// By hand: parts by priority, without those of other versions and keys; later parts of the same priority first.
    @Test func sectionsGiveTheirPartsByPriority() throws {
        func part(_ rom: UInt8, _ priority: UInt8, _ octets: [UInt8], key: UInt8 = 0) -> [UInt8] {
            [rom + 1, priority, key, 0, UInt8(octets.count), 0, 0, 0] + octets
        }
        func section(_ kind: UInt8, _ parts: [[UInt8]]) -> [UInt8] {
            let body = [UInt8(parts.count), 0, 0, 0] + parts.joined()
            return [kind, 0, 0, 0, UInt8(body.count), 0, 0, 0] + body
        }
        let sections =
            section(1, [part(0, 5, [50]), part(1, 0, [99]), part(0, 2, [20]), part(0, 5, [51])])
            + section(7, [part(0, 0, [77])]) + section(2, [part(0, 3, [30])])
            + section(3, [part(0, 1, [10], key: 4), part(0, 1, [11], key: 6)])
        let file = FirmwareBench.closed(Array("RTBTCore".utf8) + [1, 2, 3, 4, 5, 6, 7, 8, 4, 0, 0, 0] + sections, project: 20)
        let image = try RealtekImage(file, for: try Self.chip("RTL8852BU"))
        #expect(try image.payload(romVersion: 0, key: 0) == [20, 30, 51, 50])
        #expect(try image.payload(romVersion: 0, key: 4) == [10, 20, 30, 51, 50])
        #expect(try image.payload(romVersion: 0, key: 6) == [11, 20, 30, 51, 50])
        #expect(try image.payload(romVersion: 1, key: 0) == [99])
        #expect(throws: FirmwareImageError.noPatch(romVersion: 2)) { try image.payload(romVersion: 2, key: 0) }
    }

    @Test func fragmentsCountFromOneAfterTheFirstRound() {
        let expected = Array(0...127) + Array(1...127) + Array(1...20)
        #expect((0..<expected.count).map { Int(RealtekLoader.index(of: $0)) } == expected)
    }

    @Test(arguments: [
        (UInt16(0x8761), UInt16(0x0B), UInt8(0x0A), "RTL8761BU" as String?), (0x8761, 0x0A, 0x06, "RTL8761A"),
        (0x8761, 0x0E, 0x0B, "RTL8761CU"),
        (0x8852, 0x0C, 0x0C, "RTL8852CU"), (0x8761, 0x0B, 0x09, nil), (0xD922, 0xDFC6, 0x0A, nil),
    ])
    func aChipIsKnownByItsVersion(lmp: UInt16, hci: UInt16, version: UInt8, name: String?) {
        let answer = HCICommands.ReadLocalVersionInformation.Return(
            status: .success, hciVersion: version, hciSubversion: hci, lmpVersion: version, companyIdentifier: 0x5D, lmpSubversion: lmp)
        #expect(RealtekChip.find(answer)?.name == name)
    }

    @Test(arguments: [
        ([0x37, 0x0B, 0x10, 0x06, 0, 0, 0, 0, 0] as [UInt8], UInt16(5), "intel/ibt-11-5.sfi"),
        ([0x37, 0x0C, 0x10, 0x06, 0, 0, 0, 0, 0], 16, "intel/ibt-12-16.sfi"),
        ([0x37, 0x12, 0x10, 0x06, 0x01, 0, 0, 0, 0], 0, "intel/ibt-18-16-1.sfi"),
        ([0x37, 0x14, 0x01, 0x06, 0x03, 0, 0, 0, 0], 0, "intel/ibt-20-1-3.sfi"),
        ([0x10, 4, 0x10, 0x04, 0, 0, 0x11, 4, 0x10, 0x04, 0, 0, 0x12, 4, 0, 0x37, 0x17, 0, 0x1C, 1, 1], 0, "intel/ibt-0041-0041.sfi"),
        ([0x10, 4, 0x00, 0x09, 0, 0, 0x11, 4, 0x01, 0x09, 0, 1, 0x12, 4, 0, 0x37, 0x1C, 0, 0x1C, 1, 1], 0, "intel/ibt-0090-1190.sfi"),
    ])
    func anIntelFileIsNamedByWhatTheControllerSays(octets: [UInt8], revision: UInt16, name: String) throws {
        let need = try IntelVersionReport(octets).need(deviceRevision: revision)
        #expect(need.file == name && need.companion == name.replacing(".sfi", with: ".ddc"))
    }

    @Test(
        arguments: [
            [], [0x37], [0x36, 0x0B, 0, 6, 0, 0, 0, 0, 0], [0x37, 0x20, 0, 6, 0, 0, 0, 0, 0], [0x37, 0x14, 0, 9, 0, 0, 0, 0, 0],
            [0x12, 4, 0, 0x37],
            [0x12, 4, 0, 0x37, 0x17, 0], [0x12, 4, 0, 0x37, 0x17, 0, 0x1C, 1, 2], [0x12, 4, 0, 0x38, 0x17, 0, 0x1C, 1, 1],
        ] as [[UInt8]])
    func whatIsNotKnownIsSaid(octets: [UInt8]) {
        #expect(throws: FirmwareError.self) { try IntelVersionReport(octets) }
    }

    /// Command groups end where their length is a multiple of four, and are split at 252 octets.
    @Test(arguments: [false, true]) func anIntelImageIsCutBetweenCommands(hasTwoHeaders: Bool) throws {
        let octets = IntelImageMaker(hasSecondHeader: hasTwoHeaders).image()
        let image = try IntelImage(octets, hasTwoHeaders ? .secondOfTwo : .single)
        let data = image.fragments.filter { $0.kind == 1 }
        #expect(data.allSatisfy { $0.range.count % 4 == 0 && $0.range.count <= 252 })
        #expect(data.flatMap { Array($0.range) } == Array((hasTwoHeaders ? 964 : 644)..<octets.count))
        #expect(image.fragments.prefix(3).map(\.kind) == (hasTwoHeaders ? [0, 3, 2] : [0, 3, 3]))
        #expect(image.bootAddress == 0x0004_0800)
        if hasTwoHeaders { #expect(try IntelImage(octets, .firstOfTwo).fragments.first?.range == 0..<128) }
    }

    /// Damaged files of every kind are rejected or parsed, and never trap.
    @Test(arguments: BootModel.allCases) func damagedFilesNeverTrap(model: BootModel) throws {
        var random = RandomSource(seed: 11, label: model.rawValue)
        var maker = model == .rtl8852b ? RealtekImageMaker.rtl8852b : RealtekImageMaker.rtl8761b
        maker.patchLength = 400
        var intel = IntelImageMaker(hasSecondHeader: model == .intelAX210)
        intel.writes = 4
        let chip = try Self.chip(model == .rtl8852b ? "RTL8852BU" : "RTL8761BU")
        let isRealtek = model == .rtl8761b || model == .rtl8852b
        let whole = model == .rtl8852b ? maker.sections() : isRealtek ? maker.patches() : intel.image()
        for _ in 0..<2_000 {
            var octets = whole
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let headPlace = Int.random(in: 0..<min(octets.count, 80), using: &random)
                let anyPlace = Int.random(in: 0..<octets.count, using: &random)
                octets[Bool.random(using: &random) ? headPlace : anyPlace] = UInt8.random(in: 0...255, using: &random)
            }
            if Int.random(in: 0..<4, using: &random) == 0 { octets.removeSubrange(Int.random(in: 1..<octets.count, using: &random)...) }
            if isRealtek {
                if let image = try? RealtekImage(octets, for: chip) {
                    for rom in [UInt8(0), 1, 255] { _ = try? image.payload(romVersion: rom, key: UInt8.random(in: 0...6, using: &random)) }
                }
            } else {
                for layout in [IntelImage.Layout.single, .firstOfTwo, .secondOfTwo] { _ = try? IntelImage(octets, layout) }
                _ = try? IntelVersionReport(Array(octets.suffix(Int.random(in: 0...40, using: &random))))
            }
        }
    }

    /// A boot loader rejects HCI_Reset as unknown, but is responsive. Other rejections are not from a boot loader.
    @Test(arguments: [
        ([0x0E, 4, 1, 0x03, 0x0C, 1] as [UInt8], true), ([0x0F, 4, 1, 1, 0x03, 0x0C], true), ([0x0E, 4, 1, 0x03, 0x0C, 0x0C], false),
        ([0x0F, 4, 0x0C, 1, 0x03, 0x0C], false), ([0x0E, 4, 1, 0x05, 0xFC, 1], false),
    ])
    func aBootLoaderThatDoesNotKnowResetIsAwake(answer: [UInt8], isAwake: Bool) {
        var ladder = StartupLadder()
        _ = ladder.start(at: 0)
        _ = ladder.timeOut(at: 30_000)
        let action = ladder.received(HCIPacket(.event, answer))
        #expect(action == (isAwake ? .ready(.firstReset) : nil))
    }

    // MARK: Folders

    @Test func filesAreFoundInTheFirstFolderAndCompressedOnesAreExplained() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("folders-\(UInt64.random(in: 0 ... .max))").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        for folder in ["a/rtl_bt/folder.bin", "b/rtl_bt"] {
            try FileManager.default.createDirectory(atPath: root + "/" + folder, withIntermediateDirectories: true)
        }
        for (name, octet) in [
            ("a/rtl_bt/x.bin", UInt8(1)), ("b/rtl_bt/x.bin", 2), ("b/rtl_bt/y.bin", 3), ("b/rtl_bt/z.bin.zst", 4), ("a/rtl_bt/w.bin.xz", 5),
        ] {
            try Data([octet]).write(to: URL(fileURLWithPath: root + "/" + name))
        }
        let folders = FirmwareFolders(roots: [root + "/a", root + "/b"])
        #expect(try folders.read("rtl_bt/x.bin") == FirmwareFile(path: root + "/a/rtl_bt/x.bin", octets: [1]))
        #expect(try folders.read("rtl_bt/y.bin")?.octets == [3])
        #expect(try folders.read("rtl_bt/none.bin") == nil)
        #expect(throws: FirmwareError.unreadable(path: root + "/a/rtl_bt/folder.bin", reason: "it is a folder")) {
            try folders.read("rtl_bt/folder.bin")
        }
        let zst = FirmwareError.compressed(path: root + "/b/rtl_bt/z.bin.zst", name: "rtl_bt/z.bin")
        #expect(throws: zst) { try folders.read("rtl_bt/z.bin") }
        #expect(zst.description.contains("zstd -dc \(root)/b/rtl_bt/z.bin.zst > firmware/rtl_bt/z.bin"))
        #expect(throws: FirmwareError.compressed(path: root + "/a/rtl_bt/w.bin.xz", name: "rtl_bt/w.bin")) {
            try folders.read("rtl_bt/w.bin")
        }
        #expect(FirmwareFolders(nil) == .system && !FirmwareFolders("none").loads && FirmwareFolders("/x").roots == ["/x"])
    }
}
