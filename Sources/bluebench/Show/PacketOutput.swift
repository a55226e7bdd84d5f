import BBCapture
import BBPackets
import BBTransport
import Foundation

/// The output of `bluebench show`: lines for the standard output or a file, or a capture.
struct PacketOutput {
    /// A selected packet.
    struct Packet {
        var number: Int
        /// Nanoseconds since the first packet.
        var elapsed: Int64
        var record: CaptureRecord
        var interfaces: [CaptureInterface]
        var marks: [String]

        var interfaceName: String? { interfaces.indices.contains(record.interface) ? interfaces[record.interface].name : nil }
    }

    private let form: ShowFormOptions.Form
    private let isTree: Bool
    private let isHiding: Bool
    private let isColoured: Bool
    /// Columns of a line; nil for whole lines.
    private let width: Int?
    private let copy: CaptureCopy?
    private var lines: LineOutput

    /// - Throws: a usage error if the file cannot be written.
    init(_ options: ShowFormOptions) throws {
        form = options.form
        (isTree, isHiding) = (options.tree, options.lines.hide)
        isColoured = form == .lines && options.export == nil && options.lines.colour.isOn
        let isCapture = options.export != nil && options.exportedForm == nil
        copy = try isCapture ? options.export.map { try CaptureCopy($0, isSecret: true) } : nil
        lines = try LineOutput(isCapture ? nil : options.export)
        width = form != .lines ? nil : Self.width(options.lines.width, isFile: options.export != nil)
        writeHeader()
    }

    /// Creates the output of live lines on the standard output.
    init(_ options: LineFormOptions) throws {
        form = options.form
        (isTree, isHiding, copy) = (false, options.hide, nil)
        isColoured = form == .lines && options.colour.isOn
        lines = try LineOutput(nil)
        width = form != .lines ? nil : Self.width(options.width, isFile: false)
        writeHeader()
    }

    private mutating func writeHeader() {
        if form == .csv, copy == nil { lines.text.write("number,seconds,interface,direction,connection,layer,name,packet,marks\r\n") }
    }

    /// True if nobody reads the standard output any more.
    var isReaderGone: Bool { copy == nil && lines.isReaderGone }

    /// Number of packets for which the exported format has no place; nil if there are none.
    var omitted: Int? { copy.flatMap { $0.omitted > 0 ? $0.omitted : nil } }

    /// Decodes a packet and prints it if it is selected; returns true if it is.
    mutating func show(_ packet: Packet, _ decoder: inout PacketDecoder, _ selection: PacketSelection) throws -> Bool {
        let needsFields = isTree || isHiding || isColoured || form != .lines || selection.needsFields
        let decoded = needsFields ? decoder.decode(packet.record) : nil
        if let decoded, !selection.includes(decoded) { return false }
        lines.beginLine()
        PacketLine.write(packet, to: &lines.text)
        let head = lines.line.count
        switch decoded {
        case let decoded? where isHiding: HiddenText.write(decoded, to: &lines.text)
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
        switch form {
        case .lines: endLines(packet, decoded, head: head)
        case .json: replaceLine { PacketLine.writeJSON(packet, decoded ?? DecodedPacket(), to: &$0) }
        case .csv: replaceLine { PacketLine.writeCSV(packet, decoded ?? DecodedPacket(), to: &$0) }
        }
        return true
    }

    private mutating func endLines(_ packet: Packet, _ decoded: DecodedPacket?, head: Int) {
        lines.cutLine(to: width)
        if isColoured, let decoded { lines.paintLine(head: head, PacketKind(decoded)) }
        lines.endLine()
        if isTree, let decoded { for line in decoded.tree { append(line) } }
        for mark in packet.marks { append("    ^ \(PlainText.escaped(mark))") }
    }

    private mutating func append(_ line: String) {
        lines.beginLine()
        lines.text.write(line)
        lines.cutLine(to: width)
        lines.endLine()
    }

    private mutating func replaceLine(_ body: (inout TextBuffer) -> Void) {
        lines.dropLine()
        lines.beginLine()
        body(&lines.text)
        lines.endLine()
    }

    /// Writes everything so far.
    mutating func flush() {
        lines.flush()
        // The next packet reports the error.
        try? copy?.flush()
    }

    mutating func finish() throws {
        try lines.finish()
        do { try copy?.finish() } catch { throw CommandFailure(.bench, "\(error)") }
    }

    /// Columns of a line: as given, or the terminal's.
    private static func width(_ given: Int?, isFile: Bool) -> Int? {
        if let given { return given > 0 ? given : nil }
        return isFile ? nil : Console.width
    }
}

/// Lines for the standard output or a file, written in large blocks.
private struct LineOutput {
    var text = TextBuffer()
    private var start = 0
    private let path: String
    private let file: FileHandle?
    /// The first error number of the file.
    private var failure: Int32 = 0

    private static let largestPiece = 1 << 16

    init(_ path: String?) throws {
        self.path = path ?? "-"
        file = try path.map { FileHandle(fileDescriptor: try OutputFile($0, isSecret: true).begin(), closeOnDealloc: true) }
    }

    var isReaderGone: Bool { file == nil && Console.isOutputGone }

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
        text.write(Console.ellipsis)
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
        if failure != 0 { throw CommandFailure(.bench, "cannot write \(path): \(systemText(failure))") }
        do { try file?.close() } catch { throw CommandFailure(.bench, "cannot write \(path): \(systemReason(error))") }
    }

    mutating func flush() {
        guard !text.utf8.isEmpty else { return }
        if let file {
            if failure == 0 { failure = writeAll(text.utf8[...], to: file.fileDescriptor) }
        } else {
            Console.write(utf8: text.utf8)
        }
        text.cut(to: 0)
        start = 0
    }
}
