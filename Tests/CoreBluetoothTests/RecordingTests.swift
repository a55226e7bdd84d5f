import Testing

@testable import CoreBluetooth

/// The recording of a bench, and what a failed test says with it.
@Suite struct RecordingTests {
    /// A pair of which the accessory does not answer a read, recorded or not.
    private func failure(isRecorded: Bool) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bluebench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "air.pcapng").path()
        let pair = Pair { bench in
            guard isRecorded else { return }
            #expect(throws: Never.self) { try bench.record(to: path) }
        }
        #expect(pair.connect())
        pair.accessory.answers = false
        let control = try #require(pair.central.characteristic("2A39"))
        pair.central.peripheral?.writeValue(Data([1]), for: control, type: .withResponse)
        do {
            try pair.bench.expect("the value is written", within: 40) { pair.central.log.contains("written") }
        } catch {
            let text = "\(error)".replacing(path, with: "PATH")
            #expect(
                pair.bench.account(last: 2).split(separator: "\n").count { $0.contains(" phone ") || $0.contains(" accessory ") }
                    == (isRecorded ? 2 : 0))
            try pair.bench.stopRecording()
            #expect(FileManager.default.fileExists(atPath: path) == isRecorded)
            return text
        }
        Issue.record("the write was answered")
        return ""
    }

    @Test func aFailureSaysWhatHappenedOnTheAir() throws {
        let text = try failure(isRecorded: true)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines.first == "the value is written: not within 40.0 s")
        #expect(lines.contains("the last packets in PATH:") && lines.contains("bluebench explain PATH:"))
        #expect(lines.contains { $0.contains(" phone > ") && $0.contains("ATT_WRITE_REQ") })
        #expect(lines.contains { $0.contains("accessory < ") && $0.contains("ATT_WRITE_REQ") })
        #expect(lines.contains { $0.hasPrefix("Cause: ") }, "\(text)")
    }

    @Test func withoutARecordingItSaysSo() throws {
        #expect(try failure(isRecorded: false) == "the value is written: not within 40.0 s")
        #expect(CBBench().account().hasPrefix("no recording is running"))
        #expect(throws: (any Error).self) { try CBBench().record(to: "/nowhere/air.pcapng") }
    }
}
