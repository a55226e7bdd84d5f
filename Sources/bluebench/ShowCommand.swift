import ArgumentParser
import Capture
import Packets

/// `bluebench show`: a capture, decoded, one line a packet.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Decode a stored capture.",
        discussion: """
            Reads btsnoop, pcapng, pcap, PacketLogger and hcidump files. Each line: number, seconds since the first packet, interface, way \
            (> from the host, < from the controller, ~ on the air), what it is.
            """)

    @Argument(help: "The capture.") var file: String
    @Option(
        help: ArgumentHelp(
            "Only lines that contain every word of TEXT, whatever the case; a word that begins with ! must be absent.", valueName: "text"))
    var filter: String?
    @Option(help: ArgumentHelp("End after so many lines.", valueName: "n"), transform: Arguments.whole(1...Int.max)) var limit: Int?

    @Flag(help: "Below each line its layers and fields, with the octets that they stand in.") var tree = false

    func run() throws {
        let reader: CaptureReader
        do { reader = try CaptureReader(path: file) } catch { throw CommandFailure(.usage, "\(error)") }
        let words = (filter ?? "").lowercased().split(separator: " ")
        var output = OutputLines()
        defer { output.flush() }
        var decoder = PacketDecoder()
        var start: CaptureTime?
        var shown = 0
        do {
            while shown < limit ?? .max, let record = try reader.next() {
                let begin = start ?? record.time
                start = begin
                let packet = decoder.decode(record)
                let line = Self.line(reader.count, record, since: begin, reader.interfaces, packet.description)
                guard words.isEmpty || Self.matches(line.lowercased(), words) else { continue }
                output.append(line)
                if tree { for line in packet.tree { output.append(line) } }
                shown += 1
            }
        } catch {
            output.flush()
            throw CommandFailure(.bench, "\(error)")
        }
    }

    private static func matches(_ line: String, _ words: [Substring]) -> Bool {
        words.allSatisfy { word in word.hasPrefix("!") && word.count > 1 ? !line.contains(word.dropFirst()) : line.contains(word) }
    }

    private static func line(
        _ number: Int, _ record: CaptureRecord, since start: CaptureTime, _ interfaces: [CaptureInterface], _ text: String
    ) -> String {
        let elapsed = record.time.nanoseconds.subtractingReportingOverflow(start.nanoseconds).partialValue / 1_000
        let fraction = String(elapsed.magnitude % 1_000_000)
        let time =
            (elapsed < 0 ? "-" : "") + "\(elapsed.magnitude / 1_000_000)." + String(repeating: "0", count: 6 - fraction.count) + fraction
        let name =
            interfaces.count > 1 && interfaces.indices.contains(record.interface)
            ? PlainText.escaped(interfaces[record.interface].name) + " " : ""
        let way =
            switch record.content {
            case .hci(_, .hostToController?): "> "
            case .hci(_, .controllerToHost?): "< "
            case .hci(_, nil): "? "
            case .air, .baseband: "~ "
            case .note, .other: "  "
            }
        return "\(number) \(time) \(name)\(way)\(text)"
    }
}

/// Lines for the standard output, written in large pieces.
struct OutputLines {
    private var text = ""
    private var pending = 0

    mutating func append(_ line: String) {
        text += line
        text += "\n"
        pending += 1
        if pending >= 256 { flush() }
    }

    mutating func flush() {
        if !text.isEmpty { Console.write(text) }
        text = ""
        pending = 0
    }
}
