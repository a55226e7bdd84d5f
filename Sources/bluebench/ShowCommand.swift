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

    @Argument(help: "The capture; - for the standard input.", completion: .file()) var file: String
    @Option(
        help: ArgumentHelp(
            "Only lines that contain every word of TEXT, whatever the case; a word that begins with ! must be absent.", valueName: "text"))
    var filter: String?
    @Option(help: ArgumentHelp("End after so many lines.", valueName: "n"), transform: Arguments.whole(1...Int.max)) var limit: Int?

    @Flag(help: "Below each line its layers and fields, with the octets that they stand in.") var tree = false

    func run() throws {
        let reader: CaptureReader
        do { reader = try CaptureReader(path: file == "-" ? "/dev/stdin" : file) } catch { throw CommandFailure(.usage, "\(error)") }
        // An option's value is looked up at each use.
        let (limit, tree) = (limit ?? .max, tree)
        let words = (filter ?? "").lowercased().split(separator: " ")
        var output = Output()
        var decoder = PacketDecoder()
        var start: CaptureTime?
        var shown = 0
        do {
            while shown < limit, let record = try reader.next() {
                let begin = start ?? record.time
                start = begin
                let packet = tree ? decoder.decode(record) : nil
                output.beginLine()
                Self.write(reader.count, record, since: begin, reader.interfaces, to: &output.text)
                if let packet { packet.write(to: &output.text) } else { decoder.write(record, to: &output.text) }
                guard words.isEmpty || Self.matches(output.line.lowercased(), words) else {
                    output.dropLine()
                    continue
                }
                output.endLine()
                if let packet { for line in packet.tree { output.append(line) } }
                shown += 1
            }
        } catch {
            output.flush()
            throw CommandFailure(.bench, "\(error)")
        }
        output.flush()
    }

    private static func matches(_ line: String, _ words: [Substring]) -> Bool {
        words.allSatisfy { word in word.hasPrefix("!") && word.count > 1 ? !line.contains(word.dropFirst()) : line.contains(word) }
    }

    private static func write(
        _ number: Int, _ record: CaptureRecord, since start: CaptureTime, _ interfaces: [CaptureInterface], to text: inout TextBuffer
    ) {
        let elapsed = record.time.nanoseconds.subtractingReportingOverflow(start.nanoseconds).partialValue / 1_000
        text.write(decimal: number)
        text.write(elapsed < 0 ? " -" : " ")
        text.write(decimal: elapsed.magnitude / 1_000_000)
        text.write(".")
        text.write(decimal: elapsed.magnitude % 1_000_000, digits: 6)
        text.write(" ")
        if interfaces.count > 1, interfaces.indices.contains(record.interface) {
            text.write(PlainText.escaped(interfaces[record.interface].name))
            text.write(" ")
        }
        let way =
            switch record.content {
            case .hci(_, .hostToController?): "> "
            case .hci(_, .controllerToHost?): "< "
            case .hci(_, nil): "? "
            case .air, .baseband: "~ "
            case .note, .other: "  "
            }
        text.write(way)
    }
}

/// Lines for the standard output, written in large pieces.
private struct Output {
    var text = TextBuffer()
    private var start = 0

    private static let largestPiece = 1 << 16

    /// What has been written since the line began.
    var line: String { String(decoding: text.utf8[start...], as: UTF8.self) }

    mutating func beginLine() { start = text.utf8.count }

    mutating func dropLine() { text.cut(to: start) }

    mutating func endLine() {
        text.write("\n")
        if text.utf8.count >= Self.largestPiece { flush() }
    }

    mutating func append(_ line: String) {
        text.write(line)
        endLine()
    }

    mutating func flush() {
        if !text.utf8.isEmpty { Console.write(text.text) }
        text.cut(to: 0)
    }
}
