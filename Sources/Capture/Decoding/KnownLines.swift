import Packets

/// The names that the line of a packet shows, besides its octets.
struct LineNames: Hashable {
    var peer: String?
    var attribute: String?
    /// For an event that may show a peer's name: the number of names learned before it.
    var learned = 0
}

/// Cache of text lines by packet octets and names. Most packets repeat: set-up commands, answers, completed packets.
struct KnownLines {
    private struct Key: Hashable {
        var kind: HCIPacket.Kind
        var bytes: [UInt8]
        var names: LineNames

        func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    private var lines: [Key: [UInt8]] = [:]

    /// Maximum number of cached lines. Lines of long packets are not cached.
    private static let most = 2_048
    private static let longest = 260

    subscript(packet: HCIPacket, names: LineNames) -> [UInt8]? {
        get { lines[Key(kind: packet.kind, bytes: packet.bytes, names: names)] }
        set {
            guard packet.bytes.count <= Self.longest else { return }
            if lines.count >= Self.most { lines.removeAll() }
            lines[Key(kind: packet.kind, bytes: packet.bytes, names: names)] = newValue
        }
    }
}
