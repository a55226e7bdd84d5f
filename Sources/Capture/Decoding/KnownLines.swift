import BBPackets

/// The names that the line of a packet shows, besides its octets.
struct LineNames: Equatable {
    var peer: String?
    var attribute: String?
    /// For an event that may show a peer's name: the number of names learned before it.
    var learned = 0
}

/// Cache of text lines by packet octets, with the names in them. Most packets repeat: set-up commands, answers, completed packets.
struct KnownLines {
    private struct Key: Hashable {
        var kind: HCIPacket.Kind
        var bytes: [UInt8]

        func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    private var lines: [Key: (names: LineNames, text: [UInt8])] = [:]

    /// Maximum number of cached lines. Lines of long packets are not cached.
    private static let most = 2_048
    private static let longest = 260

    /// The line of a packet with these names. The line with other names that it had before is replaced.
    subscript(packet: HCIPacket, names: LineNames) -> [UInt8]? {
        get {
            guard let line = lines[Key(kind: packet.kind, bytes: packet.bytes)], line.names == names else { return nil }
            return line.text
        }
        set {
            guard packet.bytes.count <= Self.longest, let newValue else { return }
            let key = Key(kind: packet.kind, bytes: packet.bytes)
            if lines.count >= Self.most, lines[key] == nil { lines.removeAll() }
            lines[key] = (names, newValue)
        }
    }
}
