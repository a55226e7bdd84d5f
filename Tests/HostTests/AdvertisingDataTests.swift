import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

@Suite struct AdvertisingDataTests {
    static let rows: [(hex: String, elements: [AdvertisingElement])] = [
        ("020106", [.flags([.generalDiscoverable, .brEDRNotSupported])]),
        ("03030d18 05ff4c000102", [.serviceUUIDs([0x180D], width: 2, complete: true), .manufacturerData(company: 0x4C, [1, 2])]),
        ("050962656e63", [.completeLocalName("benc")]),
        ("020af4", [.txPowerLevel(-12)]),
        ("051206000c00", [.peripheralIntervalRange(minimum: 6, maximum: 12)]),
        ("04160d1855", [.serviceData(0x180D, [0x55])]),
        ("031940 03", [.appearance(0x0340)]),
        ("042f400d03", [.advertisingInterval(0x030D40)]),
        ("0109", [.completeLocalName("")]),
        ("0209ff", [.other(type: 9, [0xFF])]),
        ("03010600", [.other(type: 1, [6, 0])]),
        ("0403 0d18 0f", [.other(type: 3, [0x0D, 0x18, 0x0F])]),
        ("05ff", [.malformed([5, 0xFF])]),
        ("020106 ff", [.flags([.generalDiscoverable, .brEDRNotSupported]), .malformed([0xFF])]),
    ]

    @Test(arguments: rows) func structuresAreReadAndWrittenBack(hex text: String, elements: [AdvertisingElement]) {
        let data = AdvertisingData(octets: octets(text))
        #expect(data.elements == elements)
        #expect(data.octets == octets(text))
    }

    @Test(arguments: [("020106", 6), ("03010600", 6), ("040105FF00", 5), ("0101", 0), ("0303180F", nil)] as [(String, UInt8?)])
    func theFirstOctetOfTheFlagsCounts(hex text: String, _ flags: UInt8?) {
        #expect(AdvertisingData(octets: octets(text)).flags?.rawValue == flags)
    }

    @Test func zeroLengthEndsTheData() {
        #expect(AdvertisingData(octets: octets("020106 00 0909")).elements == [.flags([.generalDiscoverable, .brEDRNotSupported])])
    }

    @Test func noOctetsTrap() {
        var random = RandomSource(seed: 1)
        for _ in 0..<3000 {
            let octets = random.octets(Int(random.next() % 64))
            let data = AdvertisingData(octets: octets)
            #expect(AdvertisingData(octets: data.octets).elements == data.elements || octets.contains(0))
        }
    }

    @Test func uuidsOfAllWidthsAreFound() {
        let long = BluetoothUUID(long: 0x1234_5678_9ABC_DEF0_1234_5678_9ABC_DEF0)
        let data = AdvertisingData([.services([0x180D, 0x180F]), .services([long], complete: false)])
        #expect(AdvertisingData(octets: data.octets).serviceUUIDs == [0x180D, 0x180F, long])
    }
}

@Suite struct ReportAssemblerTests {
    private func part(_ value: UInt8, count: Int, address: UInt64 = 1, sid: UInt8 = 0) -> AdvertisingReport {
        AdvertisingReport(
            address: DeviceAddress(value: address), addressType: 0, isLegacy: false, isConnectable: false, isScannable: false,
            isDirected: false, isScanResponse: false, sid: sid, rssi: -40, octets: Array(repeating: value, count: count))
    }

    @Test(arguments: [31, 229, 251, 458, 1650]) func chainsOfAnyLengthAreJoined(length: Int) {
        var assembler = ReportAssembler()
        var result: AdvertisingReport?
        var left = length
        while left > 0 {
            let count = min(229, left)
            left -= count
            #expect(result == nil)
            result = assembler.receive(part(7, count: count), status: left > 0 ? .moreToCome : .complete)
        }
        #expect(result?.octets.count == length)
        #expect(result?.isTruncated == false)
    }

    @Test func chainsOfDifferentSetsMayInterleave() {
        var assembler = ReportAssembler()
        #expect(assembler.receive(part(1, count: 229, sid: 1), status: .moreToCome) == nil)
        #expect(assembler.receive(part(2, count: 229, sid: 2), status: .moreToCome) == nil)
        #expect(assembler.receive(part(3, count: 4, address: 9), status: .complete)?.octets == [3, 3, 3, 3])
        #expect(assembler.receive(part(1, count: 1, sid: 1), status: .complete)?.octets == Array(repeating: 1, count: 230))
        #expect(assembler.receive(part(2, count: 2, sid: 2), status: .truncated)?.octets == Array(repeating: 2, count: 231))
    }

    @Test func truncationIsKept() {
        var assembler = ReportAssembler()
        _ = assembler.receive(part(1, count: 200), status: .moreToCome)
        let report = assembler.receive(part(1, count: 0), status: .truncated)
        #expect(report?.isTruncated == true)
        #expect(report?.octets.count == 200)
    }

    @Test func neitherChainsNorTheirLengthGrowWithoutBound() {
        var assembler = ReportAssembler()
        for _ in 0..<20 { _ = assembler.receive(part(1, count: 229), status: .moreToCome) }
        let report = assembler.receive(part(1, count: 229), status: .complete)
        #expect(report?.octets.count == ReportAssembler.lengthLimit)
        #expect(report?.isTruncated == true)
        for address in 0..<100 { _ = assembler.receive(part(1, count: 9, address: UInt64(address)), status: .moreToCome) }
        #expect(assembler.abandoned == 100 - ReportAssembler.chainLimit)
    }
}
