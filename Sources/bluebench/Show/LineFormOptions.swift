import ArgumentParser
import BBSessions

/// The form of the lines of packets.
struct LineFormOptions: ParsableArguments {
    @Flag(help: "Print a JSON object for each packet, one in a line.") var json = false
    @Flag(help: "Print comma-separated values with a header line.") var csv = false
    @Option(
        help: ArgumentHelp("Cut lines to n columns; 0 for whole lines. Default: the width of the terminal.", valueName: "n"),
        transform: Arguments.whole(0...100_000))
    var width: Int?
    @Flag(help: "Show handles without the names of devices, services and characteristics.") var noNames = false
    @Flag(help: "Leave out addresses, names, keys and long values.") var hide = false
    @OptionGroup var colour: ColourOption

    func validate() throws {
        if json, csv { throw ValidationError("--json and --csv exclude each other") }
        if hide, json || csv { throw ValidationError("--hide is for lines of text: not with --json or --csv") }
    }

    /// Names of devices are among what is hidden.
    var names: Bool { !noNames && !hide }
    var kind: PacketForm.Kind { json ? .json : csv ? .csv : .lines }

    /// The form of lines on the standard output.
    var form: PacketForm {
        var form = PacketForm(kind)
        form.isHiding = hide
        form.isColoured = kind == .lines && colour.isOn
        form.width = kind != .lines ? nil : width.map { $0 > 0 ? $0 : nil } ?? Console.width
        form.ellipsis = Console.ellipsis
        return form
    }
}
