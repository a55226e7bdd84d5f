import BBCapture
import BBPackets
import BBTransport
import Foundation
import Testing

private let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// The packets that one side of a controller sent, from a capture.
private struct RecordedStream: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var packets: [HCIPacket]

    /// The streams of the captures in a folder, each up to a length; empty if there is no such folder.
    static func all(in folder: URL, octets limit: Int) -> [RecordedStream] {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        return files.filter { ["pcapng", "btsnoop", "log", "pklg", "pcap"].contains($0.pathExtension) }.sorted { $0.path < $1.path }
            .flatMap { streams(of: $0, octets: limit) }
    }

    private static func streams(of file: URL, octets limit: Int) -> [RecordedStream] {
        guard let (records, _) = try? CaptureReader.readAll(file.path) else { return [] }
        var streams: [String: RecordedStream] = [:]
        var lengths: [String: Int] = [:]
        for record in records where record.cutFrom == nil {
            guard case .hci(let packet, let direction?) = record.content, packet.isWhole else { continue }
            let name = "\(file.lastPathComponent) \(record.interface) \(direction)"
            guard lengths[name, default: 0] < limit else { continue }
            lengths[name, default: 0] += packet.bytes.count + 1
            streams[name, default: RecordedStream(testDescription: name, packets: [])].packets.append(packet)
        }
        return streams.values.sorted { $0.testDescription < $1.testDescription }
    }
}

private let own = RecordedStream.all(in: package.appendingPathComponent("Fixtures/h4"), octets: .max)

/// Captures of other tools are not part of the package.
private let others: [RecordedStream] = {
    let told = ProcessInfo.processInfo.environment["BLUEBENCH_CAPTURES"].map { URL(fileURLWithPath: $0) }
    let library = told ?? package.deletingLastPathComponent().appendingPathComponent("shared/captures")
    return RecordedStream.all(in: library.appendingPathComponent("field"), octets: 20_000)
        + RecordedStream.all(in: library.appendingPathComponent("generated"), octets: 20_000)
}()

@Suite struct RecordedStreamTests {
    @Test func theFixturesHoldWhatTheTestsNeed() {
        #expect(own.count == 8, "two controllers and both ways in each of two files")
        let packets = own.flatMap(\.packets)
        #expect(Set(packets.map(\.kind)) == [.command, .event, .acl])
        #expect(packets.contains { $0.bytes.count > 255 } && packets.contains { $0.bytes.count == 3 })
    }

    @Test(arguments: own) private func aRecordedStreamMayBeSplitAtEveryByte(_ stream: RecordedStream) throws {
        try split(stream)
    }

    @Test(.enabled(if: !others.isEmpty, "no captures of other tools at hand: set BLUEBENCH_CAPTURES"))
    func streamsOfOtherToolsMayBeSplitAtEveryByte() throws {
        for stream in others { try split(stream) }
    }

    @Test(arguments: own, [1, 13, 1_024]) private func aRecordedStreamMayComeInPiecesOfAnySize(_ stream: RecordedStream, size: Int) throws {
        let octets = stream.packets.flatMap(\.h4)
        var framer = H4Framer()
        var packets: [HCIPacket] = []
        for start in stride(from: 0, to: octets.count, by: size) {
            packets += try framer.packets(of: Array(octets[start..<min(octets.count, start + size)]))
        }
        #expect(packets == stream.packets)
        #expect(framer.pendingCount == 0)
    }

    /// For every octet: everything before it is one piece; the rest of its packet and the next packet are another.
    private func split(_ stream: RecordedStream) throws {
        var whole = H4Framer()
        for (index, packet) in stream.packets.enumerated() {
            let octets = packet.h4
            let following = index + 1 < stream.packets.count ? stream.packets[index + 1] : nil
            for position in octets.indices {
                var framer = whole
                let early = try framer.packets(of: Array(octets[..<position]))
                try #require(early.isEmpty, "\(stream.testDescription): packet \(index), \(position) octets")
                let found = try framer.packets(of: octets[position...] + (following?.h4 ?? []))
                let expected = [packet] + (following.map { [$0] } ?? [])
                try #require(found == expected, "\(stream.testDescription): packet \(index) split at \(position)")
                try #require(framer.pendingCount == 0)
            }
            try #require(try whole.packets(of: octets) == [packet])
        }
    }
}
