import BBPackets

/// A packet as a tree of layers, outermost first, each with its fields.
///
/// Text output, reports and searches for values all use this tree.
public struct DecodedPacket: Sendable {
    public var layers: [DecodedLayer] = []
    /// Notes of the capture about the packet.
    public var notes: [String] = []
    /// The channel of the L2CAP PDU that the packet completes.
    public internal(set) var channel: UInt16?
    /// True for data of a link that the capture has only encrypted.
    public internal(set) var isEncrypted = false

    public init(layers: [DecodedLayer] = [], notes: [String] = []) {
        self.layers = layers
        self.notes = notes
    }

    /// The innermost PDU.
    public var pdu: DecodedLayer? { layers.last { $0.declaration != nil } ?? layers.last }
}

extension DecodedPacket: CustomStringConvertible {
    /// One line: abbreviated headers, then PDUs with all fields.
    public var description: String { TextBuffer.text { write(to: &$0) } }

    /// Writes the text of `description`.
    public func write(to text: inout TextBuffer) {
        var separator = ""
        for index in layers.indices where layers[index].summary != "" {
            text.write(separator)
            layers[index].write(to: &text)
            separator = layers[index].summary == nil ? " | " : " "
        }
        for note in notes {
            text.writeSpace()
            text.write(note)
        }
    }

    /// A line for each layer and field, with its octets.
    public var tree: [String] {
        var lines: [String] = []
        for layer in layers {
            lines.append("  \(layer.name)" + Self.place(layer.range))
            for field in layer.fields { Self.write(field, depth: 2, &lines) }
            if !layer.trailing.isEmpty, layer.summary == nil {
                lines.append("    +\(Hex.octets(layer.trailingOctets))" + Self.place(layer.trailing))
            }
            if let problem = layer.problem { lines.append("    (\(problem))") }
        }
        return lines + notes.map { "  " + $0 }
    }

    private static func write(_ field: DecodedField, depth: Int, _ lines: inout [String]) {
        let indent = String(repeating: "  ", count: depth)
        if field.isList || field.isStructure || !field.children.isEmpty {
            lines.append(indent + field.name + place(field.range))
            for child in field.children { write(child, depth: depth + 1, &lines) }
        } else {
            lines.append("\(indent)\(field.name) = \(field.text)" + place(field.range))
        }
    }

    private static func place(_ range: Range<Int>) -> String {
        range.count < 2 ? "  [\(range.lowerBound)]" : "  [\(range.lowerBound)-\(range.upperBound - 1)]"
    }
}
