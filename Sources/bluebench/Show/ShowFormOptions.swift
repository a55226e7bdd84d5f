import ArgumentParser
import BBSessions
import Foundation

/// The form in which packets are shown.
struct ShowFormOptions: ParsableArguments {
    @Flag(help: "Show the layers and fields of each packet with their octet ranges.") var tree = false
    @OptionGroup var lines: LineFormOptions
    @Flag(help: "Under each packet, show the rules of `explain` that it matches.") var mark = false
    @Flag(help: "Only packets that a rule of `explain` matches, with the rules.") var onlyMarked = false
    @Option(
        help: ArgumentHelp("With --mark or --only-marked: rules besides the built-in ones; may be repeated.", valueName: "file"),
        completion: .file())
    var rules: [String] = []
    @Option(
        help: ArgumentHelp(
            "Write the packets to a file instead: a capture (.btsnoop, .pcapng, .pklg), .txt, .json or .csv.", valueName: "file"),
        completion: .file())
    var export: String?

    func validate() throws {
        if tree, lines.json || lines.csv { throw ValidationError("--tree, --json and --csv exclude each other") }
        if lines.hide, tree || !(exportedForm == .lines || exportedForm == nil) {
            throw ValidationError(
                "--hide excludes --tree, --json and --csv: it hides values in lines of text and in the export of a capture")
        }
        if isAnonymousCopy, marks != nil { throw ValidationError("--hide with the export of a capture excludes --mark and --only-marked") }
        if !rules.isEmpty, marks == nil { throw ValidationError("--rules needs --mark or --only-marked") }
        guard let export else { return }
        if lines.json || lines.csv {
            throw ValidationError("--export takes its format from the file name: leave --json and --csv out for \(export)")
        }
        if exportedForm == nil, tree { throw ValidationError("--tree needs an export to text: \(export) is a capture") }
        if exportedForm == nil, marks != nil, !onlyMarked {
            throw ValidationError("--mark needs an export to text: \(export) is a capture")
        }
    }

    /// True for a copy of the capture without addresses, names, keys and values.
    var isAnonymousCopy: Bool { lines.hide && export != nil && exportedForm == nil }

    /// Additional rules for marks; nil if there are no marks.
    var marks: [String]? { mark || onlyMarked ? rules : nil }

    /// The text form of the exported file; nil for a capture or without one.
    var exportedForm: PacketForm.Kind? {
        guard let export else { return nil }
        return switch (export as NSString).pathExtension.lowercased() {
        case "txt": .lines
        case "json", "jsonl", "ndjson": .json
        case "csv": .csv
        default: nil
        }
    }

    /// - Throws: a usage error if the file cannot be written.
    func output() throws -> PacketOutput {
        guard let export else {
            var form = lines.form
            form.isTree = tree
            return PacketOutput(form, to: ConsoleText())
        }
        guard let exportedForm else { return PacketOutput(try CaptureCopy(export, isSecret: true)) }
        var form = PacketForm(exportedForm)
        (form.isTree, form.isHiding, form.ellipsis) = (tree, lines.hide, Console.ellipsis)
        form.width = exportedForm != .lines ? nil : lines.width.flatMap { $0 > 0 ? $0 : nil }
        return PacketOutput(form, to: try TextFile(export))
    }
}

/// Text on the standard output.
final class ConsoleText: TextSink {
    var isReaderGone: Bool { Console.isOutputGone }
    func write(_ octets: [UInt8]) { Console.write(utf8: octets) }
    func finish() {}
}
