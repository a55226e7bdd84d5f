import BBCases

/// The fields of a controller's events, command answers and control PDUs that the cases check at the subject. A wrong value in any other
/// field passes unnoticed.
public struct FieldCoverage: Sendable {
    /// The fields of one packet, in the order of their declaration.
    public struct Row: Sendable, Hashable {
        /// The name of an event or a control PDU, or `answer NAME` for the return parameters of a command.
        public var packet: String
        public var fields: [String]

        /// The row in a list file: the packet, a colon and the fields.
        public var line: String { "\(packet): \(fields.joined(separator: " "))" }
    }

    /// The declared fields of events, of control PDUs, and of the answers to the commands that a virtual controller supports.
    public let declared: [Row]
    /// The declared fields that no case checks.
    public let unread: [Row]

    public var counts: (declared: Int, unread: Int) {
        (declared.reduce(0) { $0 + $1.fields.count }, unread.reduce(0) { $0 + $1.fields.count })
    }

    public init(_ catalogue: Catalogue) {
        var reader = FieldReading()
        for testCase in catalogue.cases { reader.read(testCase, catalogue) }
        declared = Self.packets
        unread = declared.compactMap { row in
            let left = row.fields.filter { !reader.isRead(row.packet, $0) }
            return left.isEmpty ? nil : Row(packet: row.packet, fields: left)
        }
    }

    /// Differences from a list of unread fields: fields missing from it, and listed fields that are checked or not declared.
    public func differences(from list: String) -> (missing: [String], stale: [String]) {
        var listed: [String] = []
        for line in list.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            listed += parts[1].split(separator: " ").map { "\(parts[0]): \($0)" }
        }
        let actual = unread.flatMap { row in row.fields.map { "\(row.packet): \($0)" } }
        let (known, present) = (Set(listed), Set(actual))
        return (actual.filter { !known.contains($0) }, listed.filter { !present.contains($0) })
    }

    private static let packets: [Row] = DeclaredPacket.all.compactMap { packet in
        let fields = packet.fields.filter { !$0.isReserved }.map(\.path)
        return fields.isEmpty ? nil : Row(packet: packet.name, fields: fields)
    }
}
