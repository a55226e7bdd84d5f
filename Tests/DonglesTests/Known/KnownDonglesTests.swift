import BBDongles
import BBPackets
import BBVirtualDongle
import Testing

@Suite struct KnownDonglesTests {
    /// Numbers, and the matching rows.
    static let dongles: [(DongleNumbers, [String])] = [
        (DongleNumbers(hciVersion: 13, hciRevision: 1, lmpSubversion: 1, company: 0xFFFF), []),
        (
            DongleNumbers(
                vendor: 0x0A12, product: 1, release: 0x8891, hciVersion: 6, hciRevision: 0x22BB, lmpVersion: 6, lmpSubversion: 0x22BB,
                company: 10), ["csr-whole-packets", "csr8510"]
        ),
        (
            DongleNumbers(
                vendor: 0x0A12, product: 1, release: 0x2520, hciVersion: 9, hciRevision: 0x3120, lmpVersion: 9, lmpSubversion: 0x22BB,
                company: 10), ["csr-clone", "csr-whole-packets"]
        ),
        (
            DongleNumbers(vendor: 0x33FA, product: 0x0010, release: 0x0100, hciVersion: 9, company: 2279),
            ["barrot-stray"]
        ),
        (
            DongleNumbers(
                vendor: 0x0BDA, product: 0x8771, release: 0x0200, hciVersion: 10, hciRevision: 0x000B, lmpVersion: 10,
                lmpSubversion: 0x8761,
                company: 93), ["realtek-rom", "realtek-deaf-first-reset"]
        ),
        (
            DongleNumbers(
                vendor: 0x0BDA, product: 0x8771, release: 0x0200, hciVersion: 10, hciRevision: 0xDFC6, lmpVersion: 10,
                lmpSubversion: 0xD922,
                company: 93), ["realtek-deaf-first-reset", "rtl8761bu-loaded"]
        ),
        (DongleNumbers(hciVersion: 12, hciRevision: 0x1000, lmpSubversion: 0x5244, company: 2024), ["packetcraft-page-2"]),
    ]

    /// The quirks of a row have the names by which a virtual dongle behaves so.
    @Test func eachQuirkIsKnown() {
        let names = KnownDongles.builtIn.rows.flatMap(\.quirks)
        #expect(names.count > 50 && names.filter { DongleQuirk.byName[$0] == nil } == [])
    }

    @Test(arguments: dongles) func findsTheRows(_ numbers: DongleNumbers, _ rows: [String]) {
        #expect(KnownDongles.builtIn.find(numbers).map(\.id) == rows)
    }

    @Test func theBuiltInTableHasNoMistake() throws {
        #expect(KnownDongles.builtIn.rows.count >= 35)
        #expect(KnownDongles.builtIn.addresses.count >= 14)
        #expect(Set(KnownDongles.builtIn.rows.map(\.id)).count == KnownDongles.builtIn.rows.count)
    }

    @Test func rowsOfUSBAloneAreKnownBeforeTheFirstCommand() {
        #expect(KnownDongles.builtIn.find(vendor: 0x10D7, product: 0xB012, release: nil).map(\.id) == ["ats2851"])
        #expect(KnownDongles.builtIn.find(vendor: 0x0A12, product: 1, release: 0x8891).map(\.id) == ["csr-whole-packets"])
    }

    @Test(
        arguments: [
            (0xAAAA_AAAA_AAAA, "default of the BCM43430A1"), (0x001A_7DDA_7113, "whole batches of CSR clones have it"),
            (0x00B1_BE00_0001, nil),
        ] as [(UInt64, String?)])
    func knowsSharedAddresses(_ address: UInt64, _ origin: String?) {
        #expect(KnownDongles.builtIn.origin(ofShared: DeviceAddress(value: address)) == origin)
    }

    /// Files of a user, and the positions of their errors.
    static let files: [(String, [String])] = [
        ("", ["f.yaml:1:1: the file is empty"]),
        ("- a", ["f.yaml:1:1: a table is a set of `name: value` lines"]),
        (
            "dongles:\n  - {id: x, name: n, match: {}, conduct: c, source: s, advice: a}",
            ["f.yaml:2:29: `match:` without a number fits every dongle"]
        ),
        (
            "dongles:\n  - {id: x, name: n, match: {usb: \"1209:1\"}, conduct: c, source: s, advice: a}",
            ["f.yaml:2:35: usb is VID:PID in hexadecimal, or VID:*, not '1209:1'"]
        ),
        (
            "dongles:\n  - {id: x, name: n, match: {company: 5}, do: [avoids-coded-phy, avoids-coded], conduct: c, source: s, advice: a}",
            ["f.yaml:2:66: there is no workaround 'avoids-coded'; did you mean avoids-coded-phy?"]
        ),
        (
            "dongles:\n  - {id: x, name: n, match: {hci_revision: 5..1}, conduct: c, source: s, advice: a}",
            ["f.yaml:2:44: hci_revision is four hexadecimal digits, or a range such as 0100..0116, not '5..1'"]
        ),
        (
            "dongles:\n  - {id: x, name: n, match: {company: 5}, do: [resets-port-first], conduct: c, source: s, advice: a}",
            ["f.yaml:2:5: what 'x' does on USB is done before the first command"]
        ),
        ("dongles:\n  - {id: X, nam: n}", ["`name:` is missing", "`conduct:` is missing", "`source:` is missing", "`advice:` is missing"]),
        ("addresses:\n  - {address: \"00:1A:*:DA:71:*\", origin: o}", ["f.yaml:2:15: an address is six octets"]),
        ("dongles: [", ["not YAML"]),
        (String(repeating: "[", count: 5_000), ["nested too deeply"]),
    ]

    @Test(arguments: files) func saysWhatIsWrongAndWhere(_ text: String, _ wrong: [String]) throws {
        var table = KnownDongles.builtIn
        let errors = try #require(throws: TableErrors.self) { try table.add(text, file: "f.yaml") }
        for part in wrong { #expect("\(errors)".contains(part), "\(errors)") }
        #expect(table.rows == KnownDongles.builtIn.rows)
    }

    @Test func rowsSayWhatTheHostAndTheBusDo() {
        let numbers = DongleNumbers(vendor: 0x10D7, product: 0xB012, hciVersion: 9, company: 0)
        let workarounds = DongleWorkarounds(KnownDongles.builtIn.find(numbers))
        #expect(workarounds.controller.avoidsExtendedScan && workarounds.isUnfitAsReference)
        #expect(workarounds.controller.avoidedCommands.contains(HCICommands.ReadEncryptionKeySize.opcode))
        #expect(workarounds.controller.avoidedCommands.contains(HCICommands.LEReadTransmitPower.opcode))
        #expect(DongleWorkarounds(KnownDongles.builtIn.find(vendor: 0x0A5C, product: 0x21E8, release: nil)).usb.resetsPortFirst)
        #expect(DongleWorkarounds([]).namesInUse.isEmpty)
    }

    @Test func aRowOfTheUsersReplacesOneThatIsBuiltIn() throws {
        var table = KnownDongles.builtIn
        try table.add(
            "dongles:\n  - {id: zephyr, name: mine, match: {company: 1521}, conduct: c, source: s, advice: a}", file: "f.yaml")
        #expect(table.find(DongleNumbers(company: 1521)).map(\.name) == ["mine"])
        #expect(table.rows.count == KnownDongles.builtIn.rows.count)
    }
}
