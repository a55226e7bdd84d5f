import ArgumentParser
import BBCapture
import BBDiagnosis
import BBPackets

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

/// The selection of packets by place, connection, layer, condition and text.
struct PacketSelection {
    private let words: [SearchWord]
    private let pattern: LinearPattern?
    private let condition: PacketCondition?
    private let layers: Set<Layer>?
    private let from: CapturePlace?
    private let to: CapturePlace?
    private let connection: UInt32?

    /// - Throws: a usage error for a condition, a pattern, a layer or a handle that cannot be read.
    ///
    /// - Parameter isHiding: reject conditions that would tell what is hidden.
    init(_ options: SelectionOptions, isHiding: Bool = false) throws {
        words = (options.filter ?? "").split(separator: " ").map(SearchWord.init)
        do { pattern = try options.grep.map { text throws(LinearPattern.Malformed) in try LinearPattern(text) } } catch {
            throw CommandFailure(.usage, "--grep \(options.grep ?? ""): \(error)")
        }
        do { condition = try options.where.map { try PacketCondition($0) } } catch {
            throw CommandFailure(.usage, "--where: \(error)")
        }
        if isHiding, let field = condition?.secretField {
            throw CommandFailure(.usage, "--where: \(field) may have an address, a name or a key, which is hidden")
        }
        layers = try options.layer.map(Self.layers)
        (from, to) = (options.from, options.to)
        connection = try options.connection.map(Self.number)
        isPartial = !words.isEmpty || pattern != nil || condition != nil || layers != nil || from != nil || to != nil || connection != nil
    }

    /// True if packets may be left out.
    let isPartial: Bool

    /// True if a packet's fields decide, and not only its text.
    var needsFields: Bool { condition != nil || layers != nil }

    /// True after the last packet of the selection.
    func isAfterEnd(_ packet: Int, _ elapsed: Int64) -> Bool { to?.isBefore(packet, elapsed) ?? false }

    /// True for a packet at a place and on a connection that are selected.
    func includes(_ packet: Int, _ elapsed: Int64, _ record: CaptureRecord) -> Bool {
        if from?.isAfter(packet, elapsed) ?? false || isAfterEnd(packet, elapsed) { return false }
        return connection.map { record.concerns($0) } ?? true
    }

    /// False if no packet whose PDUs have these names is selected.
    func mayInclude(_ names: Set<String>) -> Bool { condition?.mayHold(for: names) ?? true }

    func includes(_ packet: DecodedPacket) -> Bool {
        if let layers, !packet.layers.contains(where: { layers.contains($0.layer) }) { return false }
        return condition?.holds(for: packet) ?? true
    }

    /// True if the text of a packet's line fits.
    func includes(line: ArraySlice<UInt8>) -> Bool {
        if let pattern, !pattern.matches(line) { return false }
        return words.allSatisfy { $0.fits(line) }
    }

    // MARK: Options

    /// Layers by the names that the option knows.
    private static let layersByName: [(name: String, layers: [Layer])] = [
        ("hci", [.hciCommands, .hciEvents, .hciData]), ("command", [.hciCommands]), ("event", [.hciEvents]), ("data", [.hciData]),
        ("air", [.air, .baseband]), ("advertising", [.advertising]), ("ll", [.llControl]), ("lmp", [.lmp]),
        ("l2cap", [.l2cap, .l2capSignaling, .l2capFragment]), ("signaling", [.l2capSignaling]), ("att", [.att]), ("smp", [.smp]),
        ("sdp", [.sdp]), ("rfcomm", [.rfcomm, .rfcommFrames]), ("avdtp", [.avdtp]), ("avctp", [.avctp, .avrcpCommands, .avrcpResponses]),
    ]
    static var layerNames: [String] { layersByName.map(\.name) }

    private static func layers(_ text: String) throws -> Set<Layer> {
        var layers: Set<Layer> = []
        for word in text.lowercased().split(separator: ",") {
            guard let found = layersByName.first(where: { $0.name == word }) else {
                throw CommandFailure(.usage, "--layer \(text): the layers are \(layerNames.joined(separator: ", "))")
            }
            layers.formUnion(found.layers)
        }
        return layers
    }

    private static func number(_ text: String) throws -> UInt32 {
        let digits = text.lowercased().hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
        guard let digits else { throw CommandFailure(.usage, "--connection \(text): a handle is a number as 0x0040 or 64") }
        return digits
    }
}

/// A place in a capture: the number of a packet, or a time since the first one.
enum CapturePlace: ExpressibleByArgument {
    case packet(Int)
    case nanoseconds(Int64)

    init?(argument: String) {
        if let number = Int(argument), number > 0 {
            self = .packet(number)
        } else if argument.hasSuffix("s"), let seconds = Double(argument.dropLast()), seconds >= 0, seconds < 1e9 {
            self = .nanoseconds(Int64(saturating: seconds * 1e9))
        } else {
            return nil
        }
    }

    func isAfter(_ packet: Int, _ elapsed: Int64) -> Bool {
        switch self {
        case .packet(let number): packet < number
        case .nanoseconds(let time): elapsed < time
        }
    }

    func isBefore(_ packet: Int, _ elapsed: Int64) -> Bool {
        switch self {
        case .packet(let number): packet > number
        case .nanoseconds(let time): elapsed > time
        }
    }
}

extension CaptureRecord {
    /// True for data, commands and events of a connection handle, and for transmissions with an access address.
    fileprivate func concerns(_ connection: UInt32) -> Bool { connections.contains(connection) }

    /// The connection handles in a packet, or the access address of a transmission.
    var connections: [UInt32] {
        switch content {
        case .hci(let packet, _):
            if let header = packet.aclHeader { return [UInt32(header.handle.rawValue & 0x0FFF)] }
            let layer = DecodedLayer(hci: packet)
            let field = layer.fields.named("Connection_Handle") ?? layer.returns.named("Connection_Handle")
            if let handle = field?.int { return [UInt32(truncatingIfNeeded: handle & 0x0FFF)] }
            return (layer.fields.named("Handles")?.children ?? []).compactMap {
                $0.children.named("Connection_Handle")?.int.map { UInt32(truncatingIfNeeded: $0) }
            }
        case .air(let frame): return [frame.bytes.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }]
        case .baseband, .note, .other: return []
        }
    }
}
