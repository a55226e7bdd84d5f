import BBPackets
import Testing

@testable import BBProducts

struct ValueWordsTests {
    /// A UUID, a value, and its meaning.
    static let rows: [(BluetoothUUID, [UInt8], String?)] = [
        (0x2A29, Array("Acme".utf8), "'Acme'"), (0x2A29, [0xFF, 0xFE], nil), (0x2A19, [100], "level 100 %"), (0x2A19, [101], nil),
        (0x2A01, [0x41, 0x03], "Heart Rate Sensor"), (0x2902, [1, 0], "notifications"), (0x2902, [2, 0], "indications"),
        (0x2902, [0, 0], "off"), (0x2902, [3, 0], "notifications and indications"),
        (
            0x2A50, [2, 0x5E, 0x04, 0x01, 0x00, 0x10, 0x01],
            "vendor's source USB Implementers Forum (2), vendor 0x045E, product 0x0001, version 0x0110"
        ),
        (0x2A37, [0x10, 72, 0x34, 0x03, 0x35, 0x03], "flags 16, rate 72 bpm, RR-intervals 820/1024 s 821/1024 s"),
        (0x2A37, [0x01, 0x48, 0x00], "flags 1, rate 72 bpm"), (0x2A38, [1], "location Chest (1)"), (0x2A38, [7], nil),
        (0x2A6E, [0x67, 0x08], "temperature 21.51 degrees Celsius"), (0x2A6E, [0xFB, 0xFF], "temperature -0.05 degrees Celsius"),
        (0x2A6E, [0x00, 0x80], "temperature not known"), (0x2A6F, [0x88, 0x13], "humidity 50 %"), (0x2A07, [0xF6], "level -10 dBm"),
        (0x2A1C, [0x00, 0x6C, 0x01, 0x00, 0xFF], "flags 0, temperature 36.4 degrees Celsius"),
        (0x2A1C, [0x01, 0xFF, 0xFF, 0x7F, 0x00], "flags 1, temperature not a number degrees Fahrenheit"),
        (
            0x2A04, [6, 0, 0xFF, 0xFF, 0, 0, 100, 0],
            "least interval 7.5 ms, greatest interval not known, latency 0, supervision timeout 1000 ms"
        ),
        (0x2901, Array("Left ear".utf8), "'Left ear'"), (0xFFF1, Array("ok\u{1B}".utf8), nil), (0xFFF1, [0x41], nil),
        (0x2A29, Array("a\u{1B}b".utf8), "'a\\u{1B}b'"),
    ]

    @Test(arguments: rows) func aValueHasWords(_ uuid: BluetoothUUID, _ value: [UInt8], _ words: String?) {
        #expect(ValueWords.text(value, of: uuid) == words)
    }
}
