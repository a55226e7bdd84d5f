import BBCapture
import BBDiagnosis
import Foundation

extension FuzzTarget {
    /// A file of any or no format: reading ends, every record can be displayed, and the whole can be explained.
    static let captures = FuzzTarget(
        name: "captures", layer: nil,
        seeds: {
            let kept = Seeds.files(below: "Fixtures", ending: ".pcapng").map { Array($0.prefix(1_500)) }
            let tiny: [[UInt8]] = [
                Array("btsnoop\0".utf8) + [0, 0, 0, 1, 0, 0, 3, 0xEA] + [0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0]
                    + [0, 0xDC, 0xDD, 0xB3, 0x0F, 0x2F, 0x80, 0] + [1, 3, 0x0C, 0],
                [0, 0, 0, 0x0C, 0x5F, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0x0C, 0],
                [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 201, 0, 0, 0] + [
                    0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0,
                ]
                    + [0, 0, 0, 0, 1, 3, 0x0C, 0],
            ]
            return kept + tiny
        },
        run: { input in
            try Data(input).write(to: file)
            guard let reader = try? CaptureReader(path: file.path) else { return }
            var decoder = PacketDecoder()
            var examiner = Examiner(rules: try DiagnosisRule.builtIn())
            var count = 0
            while let record = try? reader.next() {
                _ = decoder.decode(record).description
                examiner.examine(record)
                count += 1
                // What is compressed may have more.
                try promise(count <= input.count * 1_032, "more records than octets")
            }
            let diagnosis = examiner.finish()
            try promise(diagnosis.packets == count, "packets that were not counted")
            _ = diagnosis.text
            _ = try diagnosis.json()
        })

    private static let file = FileManager.default.temporaryDirectory.appendingPathComponent(
        "bluebench-fuzz-\(ProcessInfo.processInfo.processIdentifier)")
}
