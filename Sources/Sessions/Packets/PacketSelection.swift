import BBCapture
import BBDiagnosis
import BBPackets

/// The selection of packets as somebody writes it, in options or in the fields of a page.
package struct SelectionText: Hashable, Sendable {
    /// Words that a line has, or after `!` lacks.
    package var words: String?
    /// A regular expression for lines.
    package var pattern: String?
    /// A condition on PDUs and fields.
    package var condition: String?
    /// Names of layers, separated by commas.
    package var layers: String?
    package var from: CapturePlace?
    package var to: CapturePlace?
    /// A handle, or an access address on the air.
    package var connection: String?

    package init() {}
}

/// The selection of packets by place, connection, layer, condition and text.
package struct PacketSelection {
    private let words: [SearchWord]
    private let pattern: LinearPattern?
    private let condition: PacketCondition?
    private let layers: Set<Layer>?
    private let from: CapturePlace?
    private let to: CapturePlace?
    private let connection: UInt32?

    /// A part of the selection that cannot be read: its name, which is that of the option, and the reason.
    package struct Mistake: Error, CustomStringConvertible {
        package var description: String

        package init(_ part: String, _ reason: String) { description = "\(part): \(reason)" }
    }

    /// - Parameter isHiding: reject conditions that would tell what is hidden.
    package init(_ text: SelectionText, isHiding: Bool = false) throws(Mistake) {
        words = (text.words ?? "").split(separator: " ").map(SearchWord.init)
        do { pattern = try text.pattern.map { text throws(LinearPattern.Malformed) in try LinearPattern(text) } } catch {
            throw Mistake("grep \(text.pattern ?? "")", "\(error)")
        }
        do { condition = try text.condition.map { try PacketCondition($0) } } catch { throw Mistake("where", "\(error)") }
        if isHiding, let field = condition?.secretField {
            throw Mistake("where", "cannot select by \(field) while such values are hidden: it may be an address, a name or a key")
        }
        layers = try text.layers.map(Self.layers)
        (from, to) = (text.from, text.to)
        connection = try text.connection.map(Self.number)
        isPartial = !words.isEmpty || pattern != nil || condition != nil || layers != nil || from != nil || to != nil || connection != nil
    }

    /// True if packets may be left out.
    package let isPartial: Bool

    /// True if a packet's fields decide, and not only its text.
    var needsFields: Bool { condition != nil || layers != nil }

    /// True after the last packet of the selection.
    package func isAfterEnd(_ packet: Int, _ elapsed: Int64) -> Bool { to?.isBefore(packet, elapsed) ?? false }

    /// True for a packet at a place and on a connection that are selected.
    package func includes(_ packet: Int, _ elapsed: Int64, _ record: CaptureRecord) -> Bool {
        if from?.isAfter(packet, elapsed) ?? false || isAfterEnd(packet, elapsed) { return false }
        return connection.map { record.concerns($0) } ?? true
    }

    /// False if no packet whose PDUs have these names is selected.
    func mayInclude(_ names: Set<String>) -> Bool { condition?.mayHold(for: names) ?? true }

    package func includes(_ packet: DecodedPacket) -> Bool {
        if let layers, !packet.layers.contains(where: { layers.contains($0.layer) }) { return false }
        return condition?.holds(for: packet) ?? true
    }

    /// True if the text of a packet's line fits.
    package func includes(line: ArraySlice<UInt8>) -> Bool {
        if let pattern, !pattern.matches(line) { return false }
        return words.allSatisfy { $0.fits(line) }
    }

    // MARK: Options

    /// Layers by the names that the option knows.
    private static let layersByName: [(name: String, layers: [Layer])] = [
        ("hci", [.hciCommands, .hciEvents, .hciData, .isoLoads]), ("command", [.hciCommands]), ("event", [.hciEvents]),
        ("data", [.hciData, .isoLoads]),
        ("air", [.air, .baseband]), ("advertising", [.advertising]), ("ll", [.llControl]), ("lmp", [.lmp]),
        ("l2cap", [.l2cap, .l2capSignaling, .l2capFragment]), ("signaling", [.l2capSignaling]), ("att", [.att]), ("smp", [.smp]),
        ("sdp", [.sdp]), ("rfcomm", [.rfcomm, .rfcommFrames]), ("avdtp", [.avdtp]), ("avctp", [.avctp, .avrcpCommands, .avrcpResponses]),
    ]
    package static var layerNames: [String] { layersByName.map(\.name) }

    private static func layers(_ text: String) throws(Mistake) -> Set<Layer> {
        var layers: Set<Layer> = []
        for word in text.lowercased().split(separator: ",") {
            guard let found = layersByName.first(where: { $0.name == word }) else {
                throw Mistake("layer \(text)", "use \(layerNames.joined(separator: ", "))")
            }
            layers.formUnion(found.layers)
        }
        return layers
    }

    private static func number(_ text: String) throws(Mistake) -> UInt32 {
        let digits = text.lowercased().hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
        guard let digits else { throw Mistake("connection \(text)", "a handle is a number as 0x0040 or 64") }
        return digits
    }
}

/// A place in a capture: the number of a packet, or a time since the first one.
package enum CapturePlace: Hashable, Sendable {
    case packet(Int)
    case nanoseconds(Int64)

    /// Reads `120` or `3.5s`.
    package init?(argument: String) {
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
