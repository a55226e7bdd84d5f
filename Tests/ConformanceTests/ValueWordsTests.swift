import Packets
import Testing

@testable import Conformance

struct ValueWordsTests {
    /// A UUID, a value, and its meaning.
    static let rows: [(BluetoothUUID, [UInt8], String?)] = [
        (0x2A29, Array("Acme".utf8), "'Acme'"), (0x2A29, [0xFF, 0xFE], nil), (0x2A19, [100], "level 100"), (0x2A19, [101], nil),
        (0x2A01, [0x41, 0x03], "Heart Rate Sensor"), (0x2902, [1, 0], "notifications"), (0x2902, [2, 0], "indications"),
        (0x2902, [0, 0], "off"), (0x2902, [3, 0], "notifications and indications"),
        (0x2A50, [2, 0x5E, 0x04, 0x01, 0x00, 0x10, 0x01], "vendor's source 2, vendor 1118, product 1, version 272"),
        (0x2A37, [0x10, 72, 0x34, 0x03, 0x35, 0x03], "flags 16, rate 72, RR-intervals 820 821"),
        (0x2A37, [0x01, 0x48, 0x00], "flags 1, rate 72"),
        (0x2901, Array("Left ear".utf8), "'Left ear'"), (0xFFF1, Array("ok\u{1B}".utf8), nil), (0xFFF1, [0x41], nil),
        (0x2A29, Array("a\u{1B}b".utf8), "'a\\u{1B}b'"),
    ]

    @Test(arguments: rows) func aValueHasWords(_ uuid: BluetoothUUID, _ value: [UInt8], _ words: String?) {
        #expect(ValueWords.text(value, of: uuid) == words)
    }
}
