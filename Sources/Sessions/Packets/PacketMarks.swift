import BBCapture
import BBDiagnosis

/// The rules that packets of a capture match. They are known at the end of the capture, so that it is read twice.
package struct PacketMarks {
    private var marks: [Int: [String]] = [:]

    /// - Throws: a usage error for a stream, which cannot be read twice, or for a mistake in a rules file.
    package init(_ path: String, rules: [String], showsSecrets: Bool) throws {
        let information = try? FileKind(path)
        guard path != "-", information?.isRegular == true else {
            throw CommandFailure(.usage, "--mark needs a file: \(path) is a stream, which cannot be read twice")
        }
        var examiner = Examiner(rules: try RuleFiles.all(rules), showsSecrets: showsSecrets)
        var failure: CaptureError?
        do {
            let reader = try CaptureReader(path: path)
            do { while let record = try reader.next() { examiner.examine(record) } } catch { failure = error }
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
        for finding in examiner.finish(failure).findings {
            let name = "\(finding.rule.severity.rawValue) \(finding.rule.id)"
            for packet in Set(finding.packets) {
                // The message describes the first match of the rule on the link.
                let isFirst = packet == finding.packets.first || finding.count == 1
                marks[packet, default: []].append(isFirst ? "\(name): \(finding.message)" : name)
            }
        }
    }

    package subscript(packet: Int) -> [String]? { marks[packet] }
}
