import BBCapture
import BBPackets

/// The output of packets: text, or a capture.
package struct PacketOutput {
    /// A selected packet.
    package struct Packet {
        package var number: Int
        /// Nanoseconds since the first packet.
        package var elapsed: Int64
        package var record: CaptureRecord
        package var interfaces: [CaptureInterface]
        package var marks: [String]

        package init(number: Int, elapsed: Int64, record: CaptureRecord, interfaces: [CaptureInterface], marks: [String]) {
            (self.number, self.elapsed, self.record) = (number, elapsed, record)
            (self.interfaces, self.marks) = (interfaces, marks)
        }

        var interfaceName: String? { interfaces.indices.contains(record.interface) ? interfaces[record.interface].name : nil }
    }

    private let form: PacketForm
    private let copy: CaptureCopy?
    private var lines: LineOutput

    /// - Parameter sink: takes the text.
    package init(_ form: PacketForm, to sink: any TextSink) {
        (self.form, copy) = (form, nil)
        lines = LineOutput(sink, form.ellipsis)
        writeHeader()
    }

    /// Creates the output of a capture.
    package init(_ copy: CaptureCopy) {
        (form, self.copy) = (PacketForm(), copy)
        lines = LineOutput(nil, form.ellipsis)
    }

    private mutating func writeHeader() {
        if form.kind == .csv { lines.text.write("number,seconds,interface,direction,connection,layer,name,packet,marks\r\n") }
    }

    /// True if nobody reads the standard output any more.
    package var isReaderGone: Bool { lines.isReaderGone }

    /// Number of packets for which the exported format has no place; nil if there are none.
    package var omitted: Int? { copy.flatMap { $0.omitted > 0 ? $0.omitted : nil } }

    /// Decodes a packet and prints it if it is selected; returns true if it is.
    package mutating func show(_ packet: Packet, _ decoder: inout PacketDecoder, _ selection: PacketSelection) throws -> Bool {
        let needsFields = form.needsFields || selection.needsFields
        let decoded = needsFields ? decoder.decode(packet.record) : nil
        if let decoded, !selection.includes(decoded) { return false }
        lines.beginLine()
        PacketLine.write(packet, to: &lines.text)
        let head = lines.line.count
        switch decoded {
        case let decoded? where form.isHiding: HiddenText.write(decoded, to: &lines.text)
        case let decoded?: decoded.write(to: &lines.text)
        case nil: decoder.write(packet.record, to: &lines.text)
        }
        guard selection.includes(line: lines.line) else {
            lines.dropLine()
            return false
        }
        if let copy {
            lines.dropLine()
            try copy.write(packet.record, packet.interfaces)
            return true
        }
        switch form.kind {
        case .lines: endLines(packet, decoded, head: head)
        case .json: replaceLine { PacketLine.writeJSON(packet, decoded ?? DecodedPacket(), to: &$0) }
        case .csv: replaceLine { PacketLine.writeCSV(packet, decoded ?? DecodedPacket(), to: &$0) }
        }
        return true
    }

    private mutating func endLines(_ packet: Packet, _ decoded: DecodedPacket?, head: Int) {
        lines.cutLine(to: form.width)
        if form.isColoured, let decoded { lines.paintLine(head: head, PacketKind(decoded)) }
        lines.endLine()
        if form.isTree, let decoded { for line in decoded.tree { append(line) } }
        for mark in packet.marks { append("    ^ \(PlainText.escaped(mark))") }
    }

    private mutating func append(_ line: String) {
        lines.beginLine()
        lines.text.write(line)
        lines.cutLine(to: form.width)
        lines.endLine()
    }

    private mutating func replaceLine(_ body: (inout TextBuffer) -> Void) {
        lines.dropLine()
        lines.beginLine()
        body(&lines.text)
        lines.endLine()
    }

    /// Writes everything so far.
    package mutating func flush() {
        lines.flush()
        // The next packet reports the error.
        try? copy?.flush()
    }

    package mutating func finish() throws {
        try lines.finish()
        do { try copy?.finish() } catch { throw CommandFailure(.bench, "\(error)") }
    }
}

/// Lines, written in large blocks.
private struct LineOutput {
    var text = TextBuffer()
    private var start = 0
    /// Nil if nothing is written.
    private let sink: (any TextSink)?
    private let ellipsis: String

    private static let largestPiece = 1 << 16

    init(_ sink: (any TextSink)?, _ ellipsis: String) { (self.sink, self.ellipsis) = (sink, ellipsis) }

    var isReaderGone: Bool { sink?.isReaderGone ?? false }

    /// The text of the current line.
    var line: ArraySlice<UInt8> { text.utf8[start...] }

    mutating func beginLine() { start = text.utf8.count }

    mutating func dropLine() { text.cut(to: start) }

    /// Cuts the current line to a number of columns, with an ellipsis as the last one.
    mutating func cutLine(to width: Int?) {
        guard let width, text.utf8.count - start > width else { return }
        let all = String(decoding: line, as: UTF8.self)
        guard all.count > width else { return }
        text.cut(to: start)
        text.write(String(all.prefix(max(0, width - 1))))
        text.write(ellipsis)
    }

    /// Colours the current line: number, time and direction faint, the packet by its kind.
    mutating func paintLine(head: Int, _ kind: PacketKind) {
        let all = Array(line)
        text.cut(to: start)
        text.write("\u{1B}[90m")
        text.write(utf8: Array(all.prefix(head)))
        text.write("\u{1B}[0;\(kind.colour)m")
        text.write(utf8: Array(all.dropFirst(head)))
        text.write("\u{1B}[0m")
    }

    mutating func endLine() {
        text.write("\n")
        if text.utf8.count >= Self.largestPiece { flush() }
    }

    mutating func finish() throws {
        flush()
        try sink?.finish()
    }

    mutating func flush() {
        guard !text.utf8.isEmpty else { return }
        sink?.write(text.utf8)
        text.cut(to: 0)
        start = 0
    }
}
