import BBCapture
import BBPackets
import Foundation
import Testing

/// Captures written by other tools. They are not part of the package; without them, the tests are skipped.
private let library: String = {
    if let told = ProcessInfo.processInfo.environment["BLUEBENCH_CAPTURES"] { return told }
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    return root.deletingLastPathComponent().appendingPathComponent("shared/captures").path
}()

private struct Listed: Sendable, CustomTestStringConvertible {
    var path: String
    var packets: Int?
    var testDescription: String { path }
}

private let listed: [Listed] = {
    guard let manifest = try? String(contentsOfFile: library + "/MANIFEST.tsv", encoding: .utf8) else { return [] }
    return manifest.split(separator: "\n").dropFirst().map { line in
        let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
        return Listed(path: String(columns[0]), packets: columns.count > 5 ? Int(columns[5]) : nil)
    }.filter { !$0.path.hasPrefix("known-bad") && FileManager.default.fileExists(atPath: library + "/" + $0.path) }
}()

@Suite(.enabled(if: !listed.isEmpty, "no captures of other tools at hand: set BLUEBENCH_CAPTURES"))
struct FieldTests {
    @Test func everyFileOfOthersIsReadToItsEnd() throws {
        for file in listed {
            let (records, failure) = try CaptureReader.readAll(library + "/" + file.path)
            #expect(failure == nil, "\(file.path)")
            // The manifest also counts blocks of the torture files that are not packets, such as journal entries.
            let isTorture = file.path.hasPrefix("pcapng-torture")
            if let packets = file.packets { #expect(isTorture ? records.count <= packets : records.count == packets, "\(file.path)") }
            #expect(
                file.path.hasPrefix("pcapng-torture") || records.contains { if case .other = $0.content { false } else { true } },
                "\(file.path)")
        }
    }

    @Test func linesAreTheSameWithAndWithoutTheCache() throws {
        for file in listed {
            var (decoding, writing) = (PacketDecoder(names: true), PacketDecoder(names: true))
            let (records, _) = try CaptureReader.readAll(library + "/" + file.path)
            for (number, record) in records.prefix(5_000).enumerated() {
                let text = TextBuffer.text { writing.write(record, to: &$0) }
                #expect(text == decoding.decode(record).description, "\(file.path) \(number + 1)")
            }
        }
    }

    @Test func whatIsHCIComesOutTheSameFromEveryFormat() throws {
        for file in listed {
            let (records, _) = try CaptureReader.readAll(library + "/" + file.path)
            let packets = records.filter { if case .hci(_, .some) = $0.content { $0.cutFrom == nil } else { false } }
            guard let first = packets.first, packets.count <= 1_500 else { continue }
            for ending in ["btsnoop", "pcapng", "pklg"] {
                try withTemporaryFile(ending) { path in
                    let writer = try CaptureWriter(path: path)
                    _ = try writer.addInterface(CaptureInterface(name: "hci", linkType: .h4WithDirection))
                    for var record in packets {
                        record.interface = 0
                        try writer.write(record)
                    }
                    try writer.finish()
                    let (copies, failure) = try CaptureReader.readAll(path)
                    #expect(failure == nil)
                    #expect(copies.map(\.content) == packets.map(\.content), "\(file.path) as \(ending)")
                    #expect(copies.first?.time.microseconds == first.time.microseconds)
                }
            }
        }
    }
}
