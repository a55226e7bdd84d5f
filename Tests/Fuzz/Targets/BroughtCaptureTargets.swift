import BBPackets
import Foundation

@testable import BBCapture

/// Captures in archives and texts.
extension FuzzTarget {
    private static let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]
    private static let answer: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]
    private static let snoop: [UInt8] =
        Array("btsnoop\0".utf8) + [0, 0, 0, 1, 0, 0, 3, 0xEA, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0]
        + [0, 0xDC, 0xDD, 0xB3, 0x0F, 0x2F, 0x80, 0] + reset

    /// Archives of any bytes: reading ends, and expands to no more than deflate can.
    static let archives = FuzzTarget(
        name: "archives", layer: nil,
        seeds: {
            let packed = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + deflated(snoop) + [0, 0, 0, 0, 0, 0, 0, 0]
            return [
                zip("x.btsnoop", snoop), zip("x.log", Array("CMD => 03 0C 00\n".utf8)), zip("x.gz", packed), packed,
                tar("a/x.btsnoop", snoop),
            ]
        },
        run: { input in
            try read(input, most: max(1, input.count) * 1_032)
            // The parts that a wrong checksum or a missing directory hide.
            let inflater = Inflater(FileSource(path: "", MemoryStream(input)), .none, most: 1 << 22)
            var count = 0
            while let piece = try? inflater.read(1 << 14), !piece.isEmpty { count += piece.count }
            try promise(count <= 1 << 22 + 1 << 14, "more octets than the limit")
        })

    /// Texts of any kind: reading ends, and packets have no more octets than their text has digits.
    static let logs = FuzzTarget(
        name: "logs", layer: nil, isText: true,
        seeds: {
            [
                "[00:00:00.000] CMD => 03 0C 00\n[2026-01-02 00:00:00.002] EVT <= 0E 04 01 03 0C 00\r\n",
                "[00:00:01.000,123] <dbg> bt_driver: Final HCI buffer:\n    01 03 0c 00             |....\n",
                "DEBUG:bumble.host:\u{1B}[34m### HOST -> CONTROLLER\u{1B}[0m: 01030c00\n",
                "I 00:00:00.5\n000000 04 0e 04 01 03 0c 00\n000007\n",
                "HCI sniffer - Bluetooth packet analyzer ver 5.50\n> 04 0E 04 01\n  03 0C 00\n",
                "Bluetooth monitor ver 5.83\n< HCI Command: x #1\n",
                "== dumpstate\n--- BEGIN:BTSNOOP_LOG_SUMMARY (9 bytes in) ---\nAgAA\n--- END:BTSNOOP_LOG_SUMMARY ---\n",
            ].map { Array($0.utf8) }
        },
        run: { input in try read(input, most: input.count) })

    /// The records of the log in a bug report, in each layout.
    static let bugReports = FuzzTarget(
        name: "bug-reports", layer: nil,
        seeds: {
            [
                [1, 4, 0, 1, 0, 0, 0, 0x20] + reset.dropFirst(), [2, 4, 0, 4, 0, 1, 0, 0, 0, 0x20] + reset.dropFirst(),
                [2, 7, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x10] + answer.dropFirst(),
            ]
        },
        run: { input in
            guard let version = input.first else { return }
            let log = Array(input.dropFirst())
            let block = [version, 0, 0, 0, 0, 0, 0, 0, 0, 0x78, 1] + deflated(log) + [0, 0, 0, 0]
            guard var report = BTSnooz(base64: Array(Data(block).base64EncodedData())) else { return }
            var octets = 0
            while let record = report.next() {
                guard case .hci(let packet, _) = record.content else { continue }
                octets += packet.bytes.count
            }
            try promise(octets <= log.count, "more octets than the log has")
        })

    /// Any capture has an anonymous copy with as many packets of the same lengths.
    static let anonymousCaptures = FuzzTarget(
        name: "anonymous-captures", layer: nil, seeds: captures.seeds,
        run: { input in
            try Data(input).write(to: place)
            guard let (records, _) = try? CaptureReader.readAll(place.path), records.count <= input.count else { return }
            var anonymous = AnonymousCapture(secret: 7)
            for record in records { anonymous.learn(record) }
            anonymous.endLearning()
            var copies: [CaptureRecord] = []
            for record in records { copies += anonymous.replace(record) }
            copies += anonymous.finish()
            let lengths = records.compactMap { length($0.content) }
            try promise(copies.compactMap { length($0.content) } == lengths, "other packets")
        })

    private static func length(_ content: CaptureRecord.Content) -> Int? {
        switch content {
        case .hci(let packet, _): packet.bytes.count
        case .air(let frame): frame.bytes.count
        case .baseband, .note, .other: nil
        }
    }

    private static func read(_ input: [UInt8], most: Int) throws {
        try Data(input).write(to: place)
        guard let reader = try? CaptureReader(path: place.path) else { return }
        var (decoder, octets) = (PacketDecoder(), 0)
        while octets <= most, let record = try? reader.next() {
            _ = decoder.decode(record)
            octets += length(record.content) ?? 0
        }
        try promise(octets <= most, "more octets than the file can have")
    }

    private static let place = FileManager.default.temporaryDirectory.appendingPathComponent(
        "bluebench-fuzz-brought-\(ProcessInfo.processInfo.processIdentifier)")

    /// A deflate stream with a stored block. RFC 1951, 3.2.4.
    private static func deflated(_ octets: [UInt8]) -> [UInt8] {
        let length = UInt16(clamping: octets.count)
        return [1, UInt8(truncatingIfNeeded: length), UInt8(length >> 8), UInt8(truncatingIfNeeded: ~length), UInt8(~length >> 8)]
            + octets.prefix(Int(length))
    }

    private static func zip(_ name: String, _ octets: [UInt8]) -> [UInt8] {
        func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        let sizes = little(octets.count, 4) + little(octets.count, 4) + little(name.utf8.count, 2) + [0, 0]
        let head = [20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + sizes
        let local = [0x50, 0x4B, 3, 4] + head + Array(name.utf8) + octets
        let entry = [0x50, 0x4B, 1, 2, 20, 0] + head + [UInt8](repeating: 0, count: 14) + Array(name.utf8)
        return local + entry + [0x50, 0x4B, 5, 6, 0, 0, 0, 0, 1, 0, 1, 0] + little(entry.count, 4) + little(local.count, 4) + [0, 0]
    }

    private static func tar(_ name: String, _ octets: [UInt8]) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: 512)
        header.replaceSubrange(0..<name.utf8.count, with: Array(name.utf8))
        header.replaceSubrange(124..<135, with: Array(String(octets.count + 0o10_000_000_000, radix: 8).utf8))
        header[124] = 48
        header[156] = 48
        header.replaceSubrange(257..<262, with: Array("ustar".utf8))
        return header + octets + [UInt8](repeating: 0, count: 1_536 - octets.count % 512)
    }
}
