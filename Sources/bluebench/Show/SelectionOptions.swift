import ArgumentParser
import BBSessions

/// The options that select packets of a capture.
struct SelectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only lines with every word of TEXT, case-insensitive; a word after ! must be absent.", valueName: "text"))
    var filter: String?
    @Option(
        help: ArgumentHelp(
            "Only lines that match an extended regular expression, as of grep -E, without back-references.", valueName: "regex"))
    var grep: String?
    @Option(
        help: ArgumentHelp(
            "Only packets for which a condition on PDUs and fields holds: 'Status != Success', 'ATT_ERROR_RSP and Attribute_Handle_In_Error > 9'.",
            valueName: "condition"))
    var `where`: String?
    @Option(
        help: ArgumentHelp(
            "Only packets of these layers, separated by commas: \(PacketSelection.layerNames.joined(separator: ", ")).", valueName: "layers"
        ))
    var layer: String?
    @Option(help: ArgumentHelp("Start at a packet, or at a time since the first packet: 120, 3.5s.", valueName: "place"))
    var from: CapturePlace?
    @Option(help: ArgumentHelp("Stop after a packet or a time.", valueName: "place")) var to: CapturePlace?
    @Option(help: ArgumentHelp("Only packets of a connection: its handle, or access address on the air.", valueName: "number"))
    var connection: String?
}

extension SelectionOptions {
    /// - Parameter isHiding: reject conditions that would tell what is hidden.
    /// - Throws: a usage error for a condition, a pattern, a layer or a handle that cannot be read.
    func selection(isHiding: Bool = false) throws -> PacketSelection {
        var text = SelectionText()
        (text.words, text.pattern, text.condition, text.layers) = (filter, grep, self.where, layer)
        (text.from, text.to, text.connection) = (from, to, connection)
        do { return try PacketSelection(text, isHiding: isHiding) } catch { throw CommandFailure(.usage, "--\(error)") }
    }
}

extension CapturePlace: ExpressibleByArgument {}
