import BBCapture
import BBDiagnosis
import BBPackets

extension BenchRecording {
    /// The last packets so far and what `bluebench explain` says about the recording, for the message of a failed test.
    ///
    /// Addresses, names and keys are left out unless time is virtual, where all of them are simulated.
    ///
    /// - Parameter count: the number of lines for the last packets. Equal packets of a device that follow one another have one line.
    public func account(last count: Int) -> String {
        log.flush()
        do {
            let reader = try CaptureReader(path: path)
            let showsSecrets = loop.mode == .virtual
            var examiner = Examiner(rules: try DiagnosisRule.builtIn(), showsSecrets: showsSecrets)
            var last = LastPackets(max(0, count), showsSecrets: showsSecrets)
            while let record = try reader.next() {
                examiner.examine(record)
                last.add(record, reader.interfaces)
            }
            let explanation = examiner.finish().text.split(separator: "\n", omittingEmptySubsequences: false)
            var lines = ["the last packets in \(path):"] + last.lines + ["", "bluebench explain \(path):"]
            lines += explanation.prefix(Self.mostLines).map(String.init)
            if explanation.count > Self.mostLines { lines.append("and \(explanation.count - Self.mostLines) more lines") }
            return lines.joined(separator: "\n")
        } catch {
            return "the recording cannot be read: \(error)"
        }
    }

    /// Lines of an explanation in a message.
    private static let mostLines = 40
}

/// The last packets of hosts; of the air, if there is no host in the recording.
private struct LastPackets {
    private struct Kind: Equatable {
        var interface: Int
        var direction: String
        var name: String
    }

    private let count: Int
    private let showsSecrets: Bool
    private var decoder = PacketDecoder()
    private var entries: [(kind: Kind, line: String, times: Int)] = []
    private var number = 0
    private var start: CaptureTime?
    private var hasHosts = false

    init(_ count: Int, showsSecrets: Bool) { (self.count, self.showsSecrets) = (count, showsSecrets) }

    var lines: [String] { entries.suffix(count).map { "  " + $0.line + ($0.times > 1 ? " (\($0.times) times)" : "") } }

    mutating func add(_ record: CaptureRecord, _ interfaces: [CaptureInterface]) {
        number += 1
        let begin = start ?? record.time
        start = begin
        let decoded = decoder.decode(record)
        if case .hci = record.content {
            if !hasHosts { entries = [] }
            hasHosts = true
        } else if hasHosts {
            return
        }
        let name = decoded.pdu?.name ?? ""
        guard name != Self.completed else { return }
        let kind = Kind(interface: record.interface, direction: LineHead.direction(record), name: name)
        let times = entries.last.map { $0.kind == kind ? $0.times : 0 } ?? 0
        if times > 0 { entries.removeLast() }
        entries.append((kind, line(record, decoded, since: begin, interfaces), times + 1))
        if entries.count > 2 * count + 2 { entries.removeFirst(entries.count - count - 1) }
    }

    private func line(
        _ record: CaptureRecord, _ decoded: DecodedPacket, since begin: CaptureTime, _ interfaces: [CaptureInterface]
    ) -> String {
        let elapsed = record.time.nanoseconds.subtractingReportingOverflow(begin.nanoseconds).partialValue
        let interface = interfaces.indices.contains(record.interface) ? interfaces[record.interface].plainName : nil
        let text = TextBuffer.text { text in
            LineHead.write(number, elapsed, record, interface: interface, to: &text)
            if showsSecrets { decoded.write(to: &text) } else { HiddenText.write(decoded, to: &text) }
        }
        return text.count > Self.width ? text.prefix(Self.width) + "~" : text
    }

    private static let width = 200
    /// Credits of a controller tell a reader nothing.
    private static let completed = HCIEvents.NumberOfCompletedPackets.name
}
