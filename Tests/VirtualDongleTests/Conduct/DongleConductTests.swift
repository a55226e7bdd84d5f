import BBMisbehaviour
import Testing

@testable import BBVirtualDongle

/// Parsing of switches.
@Suite struct DongleConductTests {
    @Test func everySwitchIsDescribedAndItsStandardValueCanBeRead() {
        #expect(DongleQuirk.all.count == DongleQuirk.byName.count && DongleQuirk.all.count >= 100)
        for quirk in DongleQuirk.all {
            #expect(quirk.name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" }, "\(quirk.name)")
            let declaration = quirk.declaration
            #expect(!declaration.text.isEmpty && (!declaration.knownOf.isEmpty || !declaration.isDefect || declaration.violates != nil))
            if let section = declaration.allowedBy ?? declaration.violates { #expect(section.hasPrefix("Core Vol "), "\(quirk.name)") }
            if declaration.standard != nil { #expect(declaration.read(nil) != nil, "\(quirk.name)") }
        }
    }

    @Test func everySwitchOfAChipCanBeRead() throws {
        #expect(ChipProfile.all.count == Set(ChipProfile.all.map(\.name)).count && ChipProfile.all.count >= 14)
        for chip in ChipProfile.all { _ = try DongleConduct(chip.quirks) }
    }

    @Test(arguments: [
        ("no-ext-scan", QuirkValue.choice("unknown")), ("no-ext-scan=disallowed", .choice("disallowed")),
        ("credits-missing=0x40", .number(64)), ("data-overtakes-events=7", .milliseconds(7...7)),
        ("data-overtakes-events=4-11", .milliseconds(4...11)), ("usb-id=0a12:0001", .identity(vendor: 0x0A12, product: 1)),
        ("le-buffers=27x7", .buffers(length: 27, count: 7)), ("le-features=FF01", .octets([0xFF, 1])),
        ("refuses=LE_Set_PHY/0x0C", .commands([0x2032: .commandDisallowed])),
        ("refuses=0xFC53+Read_BD_ADDR", .commands([0xFC53: .unknownHCICommand, 0x1009: .unknownHCICommand])),
    ])
    func valuesAreRead(text: String, value: QuirkValue) throws {
        #expect(try DongleConduct([text]).settings.map(\.value) == [value])
    }

    @Test(arguments: [
        ("no-ext-scam", "there is no quirk 'no-ext-scam'"), ("refuses", "the quirk 'refuses' needs a value"),
        ("refuses=Fly_To_The_Moon", "is not a value"), ("credits-missing=many", "is not a value"),
        ("data-overtakes-events=11-4", "is not a value"),
        ("data-overtakes-events=0-2000", "is not a value"), ("high-speed=2", "is not a value"),
        ("t-ifs=151", "did you mean inter-frame-space?"),
        ("high-speed=", "is not a value"),
        ("=", "no quirk"),
        ("le-features=F", "is not a value"), ("le-features=ÄÖ", "is not a value"), ("usb-id=1:2:3", "is not a value"),
        ("refuses=LE_Set_PHY/0", "is not a value"),
    ])
    func mistakesAreNamed(text: String, complaint: String) {
        #expect { _ = try DongleConduct([text]) } throws: { "\($0)".contains(complaint) }
    }

    @Test func listsOfCommandsAddUpAndOtherValuesReplaceEachOther() throws {
        let conduct = try DongleConduct(["silent=Reset", "silent=LE_Rand", "credits-missing=1", "credits-missing=2"])
        #expect(conduct.settings.map(\.quirk) == ["silent", "credits-missing"])
        #expect(conduct.settings.map(\.value.commands.count) == [2, 0])
        #expect(conduct.settings[1].value == .number(2))
        #expect(conduct.defects == ["silent", "credits-missing"])
    }

    @Test func aFlagCanBeTakenBack() throws {
        #expect(try DongleConduct(["high-speed", "acl-dead=true", "high-speed=false"]).settings.map(\.quirk) == ["acl-dead"])
    }

    /// Some values of a legal quirk are defects. Core Vol 4, Part E, 7.8.58.
    @Test(arguments: [("advertising-sets=0", true), ("advertising-sets=1", false)])
    func aValueDecides(text: String, isDefect: Bool) throws { #expect(try !DongleConduct([text]).defects.isEmpty == isDefect) }

    @Test func whatIsLegalOfAChipHasNoDefects() throws {
        for chip in ChipProfile.all { #expect(DongleConduct(chip: chip, legalOnly: true).defectsInProcess.isEmpty) }
        let overtaking = DongleConduct(chip: try #require(ChipProfile.named("nrf52-zephyr")))
        #expect(!overtaking.defects.contains("data-overtakes-events") && overtaking.defectsInProcess.contains("data-overtakes-events"))
        #expect(!DongleConduct(chip: try #require(ChipProfile.named("csr-clone"))).defects.isEmpty)
    }
}
