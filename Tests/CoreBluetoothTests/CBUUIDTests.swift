// By the name of a header, as apps do.
import CoreBluetooth.CBUUID
import Foundation
import Testing

@Suite struct CBUUIDTests {
    @Test(arguments: [
        ("180d", "180D", [0x18, 0x0D] as [UInt8]),
        ("0000180D-0000-1000-8000-00805F9B34FB", "180D", [0x18, 0x0D]),
        ("12345678", "12345678", [0x12, 0x34, 0x56, 0x78]),
        (
            "ABDD3056-28FA-441D-A470-55A75A52553A", "ABDD3056-28FA-441D-A470-55A75A52553A",
            [0xAB, 0xDD, 0x30, 0x56, 0x28, 0xFA, 0x44, 0x1D, 0xA4, 0x70, 0x55, 0xA7, 0x5A, 0x52, 0x55, 0x3A]
        ),
    ]) func forms(text: String, shortest: String, octets: [UInt8]) {
        let uuid = CBUUID(string: text)
        #expect(uuid.uuidString == shortest)
        #expect(uuid.data == Data(octets))
        #expect(CBUUID(data: Data(octets)) == uuid)
        #expect([uuid: 1][CBUUID(string: shortest)] == 1)
    }

    @Test func aKnownUUIDHasItsName() {
        #expect(CBUUID(string: "180A").description == "Device Information")
        #expect(CBUUID(nsuuid: UUID(uuidString: "0000180F-0000-1000-8000-00805F9B34FB")!) == CBUUID(string: "180F"))
    }
}
