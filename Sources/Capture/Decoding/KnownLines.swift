import Packets

/// Cache of text lines by packet octets. Most packets repeat: set-up commands, answers, completed packets.
struct KnownLines {
    private struct Key: Hashable {
        var kind: HCIPacket.Kind
        var bytes: [UInt8]

        func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    private var lines: [Key: [UInt8]] = [:]

    /// Maximum number of cached lines. Lines of long packets are not cached.
    private static let most = 2_048
    private static let longest = 260

    subscript(packet: HCIPacket) -> [UInt8]? {
        get { lines[Key(kind: packet.kind, bytes: packet.bytes)] }
        set {
            guard packet.bytes.count <= Self.longest else { return }
            if lines.count >= Self.most { lines.removeAll() }
            lines[Key(kind: packet.kind, bytes: packet.bytes)] = newValue
        }
    }
}
