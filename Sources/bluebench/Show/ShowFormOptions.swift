import ArgumentParser
import Foundation

/// The form in which packets are shown.
struct ShowFormOptions: ParsableArguments {
    @Flag(help: "Show the layers and fields of each packet with their octet ranges.") var tree = false
    @Flag(help: "Print a JSON object for each packet, one in a line.") var json = false
    @Flag(help: "Print comma-separated values with a header line.") var csv = false
    @Option(
        help: ArgumentHelp("Cut lines to n columns; 0 for whole lines. Default: the width of the terminal.", valueName: "n"),
        transform: Arguments.whole(0...100_000))
    var width: Int?
    @Flag(help: "Show handles without the names of devices, services and characteristics.") var noNames = false
    @Flag(help: "Leave out addresses, names, keys and long values.") var hide = false
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

    /// The text forms of a file by its extension.
    enum Form { case lines, json, csv }

    func validate() throws {
        if [tree, json, csv].count(where: { $0 }) > 1 { throw ValidationError("--tree, --json and --csv exclude each other") }
        if hide, tree || json || csv || !(exportedForm == .lines || export == nil) {
            throw ValidationError("--hide is for lines of text: not with --tree, --json, --csv or the export of a capture")
        }
        if !rules.isEmpty, marks == nil { throw ValidationError("--rules needs --mark or --only-marked") }
        guard let export else { return }
        if json || csv { throw ValidationError("--export chooses the form by the file name: \(export)") }
        if exportedForm == nil, tree { throw ValidationError("--tree needs a text file: \(export) is a capture") }
        if exportedForm == nil, marks != nil, !onlyMarked { throw ValidationError("--mark needs a text file: \(export) is a capture") }
    }

    /// Names of devices are among what is hidden.
    var names: Bool { !noNames && !hide }

    /// Additional rules for marks; nil if there are no marks.
    var marks: [String]? { mark || onlyMarked ? rules : nil }

    var form: Form { exportedForm ?? (json ? .json : csv ? .csv : .lines) }

    /// The text form of the exported file; nil for a capture or without one.
    var exportedForm: Form? {
        guard let export else { return nil }
        return switch (export as NSString).pathExtension.lowercased() {
        case "txt": .lines
        case "json", "jsonl", "ndjson": .json
        case "csv": .csv
        default: nil
        }
    }
}
