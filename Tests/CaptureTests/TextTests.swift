import BBPackets
import Testing

@testable import BBCapture

/// Text with packets in it.
@Suite struct TextTests {
    /// A text, and the packets in it.
    static let texts: [(text: String, packets: [String])] = [
        ("CMD => 03 0C 00", ["command 030C00"]),
        ("x CMD => 03 0C 00 \nEVT <= 0E 04 01 03 0C 00\n", ["command 030C00", "event 0E0401030C00"]),
        ("[00:00:01.5] ACL => 40 00 03 00 AA", ["acl > 40000300AA of 7"]), ("LOG -- hci.c.1: CMD sent\n", []),
        ("send 01 03 0c 00", ["command 030C00"]),
        ("TX: 01030c00\nRX: 040e0401030c00\nRX: 01030c00\n", ["command 030C00", "event 0E0401030C00"]),
        ("O\n0000 01 03 0c\n0003 00\n0004\n", ["command 030C00"]), ("0000  02 40 00 01 00 aa   .@...a\n", ["acl ? 40000100AA"]),
        ("0000  01 03 0c 00  41 42\n0004\n", ["command 030C00"]), ("0000 07 01 02\n", []),
        ("> 04 0E 04\n  01 03 0C 00\n", ["event 0E0401030C00"]),
        ("[00:00:00.1] <dbg> bt_driver: h4_recv: RX\n   02 40 20 01 00 bb   |.@\n", ["acl < 40200100BB"]),
        ("<dbg> spi: cmd type 0\n   03 0c 00   |..\n", ["command 030C00"]), ("de ad be ef\n", []),
    ]

    @Test(arguments: texts) func aTextHasItsPackets(text: String, packets: [String]) throws {
        let input = RecordInput(FileSource(path: "x", MemoryStream(Array(text.utf8))))
        guard !packets.isEmpty else {
            #expect(throws: CaptureError.withoutPackets(path: "x", what: .text)) { try LogDecoder(input) }
            return
        }
        var decoder = try LogDecoder(input)
        var found: [String] = []
        while let record = try decoder.next() { found.append(Self.words(record)) }
        #expect(found == packets)
    }

    private static func words(_ record: CaptureRecord) -> String {
        guard case .hci(let packet, let direction) = record.content else { return "\(record.content)" }
        let way = packet.impliedDirection != nil ? "" : direction.map { $0 == .hostToController ? " >" : " <" } ?? " ?"
        return "\(packet.kind)\(way) \(Hex.octets(packet.bytes))" + (record.cutFrom.map { " of \($0 - 1)" } ?? "")
    }

    /// A line, and its time in nanoseconds.
    static let times: [(line: String, nanoseconds: Int64?)] = [
        ("[00:00:01.500] x", 1_500_000_000), ("[00:00:00.263,763] <dbg>", 263_763_000),
        ("2026-11-30 00:00:01,25 y", 1_795_996_801_250_000_000),
        ("1970-01-02T01:02:03", 90_123_000_000_000), ("no time 12:3", nil), ("", nil), (":::", nil), ("9:59:59", 35_999_000_000_000),
    ]

    @Test(arguments: times) func aLineHasItsTime(line: String, nanoseconds: Int64?) {
        #expect(LogTime.parse(Array(line.utf8)[...]) == nanoseconds)
    }

    @Test func linesAreBoundedAndWhole() throws {
        let text = "one\r\n" + String(repeating: "x", count: 200_000) + "\n\nlast"
        let source = FileSource(path: "x", MemoryStream(Array(text.utf8)))
        var lines: [Int] = []
        while let line = try source.line(limit: 1_000) { lines.append(line.count) }
        #expect(lines == [3, 1_000, 0, 4] && source.offset == text.utf8.count)
    }

    @Test func directionsFollowFromThePackets() {
        var finder = DirectionFinder()
        func direction(_ flags: UInt8) -> CaptureDirection? {
            var content = CaptureRecord.Content.hci(HCIPacket(.acl, [0x40, flags, 0, 0]), nil)
            finder.complete(&content)
            guard case .hci(_, let direction) = content else { return nil }
            return direction
        }
        #expect(direction(0x20) == nil && direction(0x00) == .hostToController && direction(0x10) == .hostToController)
        let opened: [UInt8] = [0x3E, 0x13, 1, 0, 0x40, 0, 0, 1, 1, 0, 0, 0, 0, 0xC0, 0x18, 0, 0, 0, 0xF4, 1, 0]
        var event = CaptureRecord.Content.hci(HCIPacket(.event, opened), .controllerToHost)
        finder.complete(&event)
        #expect(direction(0x20) == .controllerToHost && direction(0x10) == .controllerToHost)
    }
}
