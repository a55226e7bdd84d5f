import BBCases
import BBPackets
import Testing

@testable import BBProducts

/// Descriptions, selectors, and what values and advertising data are compared with.
struct DescriptionTests {
    @Test(
        arguments: [
            ("device: {nam: x}", "1:10: device has no 'nam'"), ("device: {address: here}", "1:19: 'here' is not an address"),
            ("services:\n  - {uuid: \"180D\", handles: [1]}", "2:5: a service has two handles"),
            ("services:\n  - {uuid: xyz, handles: [1, 2]}", "2:12: a UUID is written"),
            ("link: {mtu: 5}", "1:13: mtu is a number from 23 to 517"), ("link: {asks: [securit]}", "did you mean"),
            ("declares: {channels: [{echoes: true}]}", "`psm:` is the SPSM"),
            ("declares: {channels: [{psm: 0x85, needs: key}]}", "needs: there is no 'key'"),
            ("leaveOut: [{case: a}]", "`because:` says why"), ("advertising: {data: 123}", "octets"),
            ("remarks: [", "not YAML"),
        ] as [(String, String)])
    func mistakesInADescriptionAreTold(_ text: String, _ expected: String) {
        do {
            _ = try DeviceDescription.read(text, file: "device.yaml")
            #expect(Bool(false), "nothing was wrong with \(text)")
        } catch { #expect(error.description.contains(expected), "\(error)") }
    }

    @Test(
        arguments: [
            ("C0:B1:BE:00:00:01", "C0:B1:BE:00:00:01"), ("C0:B1:BE:00:00:01/random", "C0:B1:BE:00:00:01/random"),
            ("180D", "a device with the service 0x180D"), ("name:180D", "'180D'"), ("Pulse 2", "'Pulse 2'"),
            ("C0:B1/public", "'C0:B1/public'"),
        ] as [(String, String)])
    func aPeerIsNamedInThreeWays(_ text: String, _ description: String) { #expect(PeerSelector(text).description == description) }

    @Test(
        arguments: [
            (0x2A19, [100], ""), (0x2A19, [101], "Battery Level: the level is 101"), (0x2A19, [], "is missing"),
            (0x2A19, [1, 2], "left over"),
            (0x2A37, [0x00, 60], ""), (0x2A37, [0x01, 60], "the rate is missing"), (0x2A37, [0x1E, 60, 1, 0, 2, 3], ""),
            (0x2A37, [0x10, 60, 1], "the RR-intervals has 1 octets"), (0x2A37, [0x10, 60], "the RR-intervals"),
            (0x2A29, [0xFF], "is not UTF-8"), (0x2A2B, [0xEA, 0x07, 13, 1, 0, 0, 0, 0, 0, 0], "the month is 13"),
            (0x2A2B, [0xEA, 0x07, 11, 22, 23, 59, 59, 7, 0, 1], ""), (0x2A4B, [0xA1, 0x01, 0xA1, 0x00, 0xC0, 0xC0], ""),
            (0x2A4B, [0x05, 0x01, 0xC0], "ends a collection at octet 2 that has not begun"),
            (0x2A4B, [0xA1, 0x01, 0xA1, 0x00, 0xC0], "does not end 1 of its collections"), (0x2A51, [1], "the features is missing"),
            (0x2A4B, [0x05, 0x01, 0x26], "cut short in the item at octet 2"), (0x2A50, [3, 0, 0, 0, 0, 0, 0], "the vendor's source is 3"),
            (0x2901, [0x54, 0xC3, 0xA9], ""), (0x2901, [0xC3, 0x28], "is not UTF-8"), (0x2900, [1], "the properties"),
            (0x2904, [4, 0, 0xAD, 0x27, 1, 0, 0], ""), (0x2904, [4, 0, 0xAD, 0x27, 1, 0], "the format"),
            (0x2908, [0, 4], "the report type is 4"),
            (0x2A04, [6, 0, 5, 0, 0, 0, 10, 0], "the greatest interval is 5"), (0xFFFF, [1, 2, 3], ""),
        ] as [(UInt16, [UInt8], String)])
    func valuesHaveTheFormatOfTheirCharacteristic(_ uuid: UInt16, _ value: [UInt8], _ fault: String) {
        let found = ValueFormat.fault(in: value, of: BluetoothUUID(uuid))
        #expect(fault.isEmpty ? found.isEmpty : found.contains(fault), "\(found)")
    }

    @Test(
        arguments: [
            ("02 01 06", "", ""), ("02 01 06 00 00", "zeros", "ends with 00 00"), ("01 01", "", ""), ("02 01 00", "flags", "octet of 0"),
            ("03 01 06 01", "flags", "reserved"), ("02 01 26", "flags", "reserved"), ("02 01 06 05 09 41", "cut", "ends with 05 09 41"),
            ("00 01", "cut", "ends with 00 01"), ("02 01 03", "flags", "limited and general"),
            ("03 0A 00 00", "sizes", "type 10 with 2 octets"),
            ("04 03 0F 18 01", "sizes", "type 3 with 3 octets"), ("02 09 41 02 08 41", "repeats", "2 local names"),
            ("06 17 01 02 03 04 05", "sizes", "type 23 with 5 octets"),
            ("07 18 01 02 03 04 05 46", "", ""), ("0D 18 01 02 03 04 05 C6 01 02 03 04 05 86", "targets", "reserved type"),
            ("07 18 00 00 00 00 00 C0", "targets", "equal bits"),
        ] as [(String, String, String)])
    func advertisingIsHeldToItsRules(_ octets: String, _ rule: String, _ fault: String) {
        let rules = AdvertisingRules(data: Hexadecimal.octets(octets) ?? [], response: [])
        let results = [
            ("cut", rules.cut), ("zeros", rules.zeros), ("sizes", rules.sizes), ("repeats", rules.repeats), ("flags", rules.flags),
            ("targets", rules.targets),
        ]
        for (name, text) in results {
            #expect(name == rule ? text.contains(fault) : text.isEmpty, "\(name): \(text)")
        }
        #expect(AdvertisingRules(data: [], response: [2, 1, 6]).flags == "the scan response has flags")
    }
}
