/// A file with files in it.
struct Archive {
    /// A file in an archive.
    struct Member {
        var name: String
        var size: Int
        /// Opens the file for reading.
        var open: () throws(CaptureError) -> FileSource
    }

    static let gzipMagic: [UInt8] = [0x1F, 0x8B, 8]
    /// Most archives in one another: a capture in a compressed archive in a compressed file.
    static let deepest = 4
    static let mostMembers = 100_000
    private static let mostTried = 16

    var path: String
    var members: [Member]

    /// The members that may be captures, the likeliest first.
    var candidates: [Member] {
        let ranked = members.compactMap { member in Self.rank(member.name).map { (rank: $0, member: member) } }
        return ranked.sorted { ($0.rank, $0.member.name) > ($1.rank, $1.member.name) }.prefix(Self.mostTried).map(\.member)
    }

    /// The member with a name, or with the end of a name.
    func member(named name: String) -> Member? {
        members.first { $0.name == name } ?? members.first { $0.name.hasSuffix("/" + name) }
    }

    /// Names of the members that are certainly captures.
    var captures: [String] { members.map(\.name).filter { (Self.rank($0) ?? 0) >= 4 } }

    /// Likelihood of a capture: logs of bug reports and sysdiagnose by their names, others by their extension.
    static func rank(_ path: String) -> Int? {
        guard let name = path.split(separator: "/").last?.lowercased(), !name.hasPrefix("."), !path.hasPrefix("__MACOSX/") else {
            return nil
        }
        if name.hasPrefix("btsnoop_hci") { return name.hasSuffix(".log") || name.hasSuffix(".cfa") ? 7 : 6 }
        if name.hasPrefix("btsnooz_hci") { return 5 }
        let plain = name.hasSuffix(".gz") ? String(name.dropLast(3)) : name
        switch plain.split(separator: ".").last {
        case "pklg", "pcapng", "pcap", "btsnoop", "snoop", "cap", "hcidump": return plain.contains("bluetooth") ? 7 : 6
        case "zip", "tar", "tgz": return 3
        case "txt", "log": return plain.hasPrefix("bugreport") || plain.hasPrefix("dumpstate") ? 4 : 2
        default: return nil
        }
    }
}

/// The octets of an archive, at any position.
enum ArchiveStorage {
    case file(FileStream, size: Int)
    case memory([UInt8])

    /// Most octets of an archive from a pipe or in another archive.
    private static let most = 256 << 20

    /// The source that is read from its start.
    init(_ source: FileSource) throws(CaptureError) {
        if source.offset == 0, let file = source.file, let size = file.size {
            self = .file(file, size: size)
            return
        }
        var octets: [UInt8] = []
        while case let piece = try source.peek(1 << 16), !piece.isEmpty {
            octets += piece
            guard octets.count <= Self.most else {
                throw .unsuitable(path: source.path, reason: "an archive of more than \(Self.most >> 20) MB must be a file")
            }
            _ = try source.skip(piece.count)
        }
        self = .memory(octets)
    }

    var size: Int {
        switch self {
        case .file(_, let size): size
        case .memory(let octets): octets.count
        }
    }

    func octets(at offset: Int, _ count: Int) throws(CaptureError) -> [UInt8] {
        guard offset >= 0, offset <= size else { return [] }
        switch self {
        case .file(let file, _): return try file.octets(at: offset, count)
        case .memory(let octets): return Array(octets[offset...].prefix(count))
        }
    }
}
