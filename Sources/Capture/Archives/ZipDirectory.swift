/// The central directory of a zip file, with 64-bit extensions. APPNOTE 4.3 and 4.4.
enum ZipDirectory {
    static let magic: [UInt8] = [0x50, 0x4B, 3, 4]
    static let emptyMagic: [UInt8] = [0x50, 0x4B, 5, 6]

    private enum Signature {
        static let entry: UInt32 = 0x0201_4B50
        static let local: UInt32 = 0x0403_4B50
        static let end: UInt32 = 0x0605_4B50
        static let end64: UInt32 = 0x0606_4B50
        static let locator64: UInt32 = 0x0706_4B50
    }

    private static let endLength = 22
    private static let entryLength = 46
    private static let localLength = 30
    private static let longestComment = 0xFFFF
    private static let longestDirectory = 64 << 20

    private struct Entry {
        var name: String
        var method: UInt16
        var isEncrypted: Bool
        var packed: Int
        var size: Int
        var offset: Int
    }

    static func archive(_ source: FileSource) throws(CaptureError) -> Archive {
        let storage = try ArchiveStorage(source)
        let path = source.path
        let tail = try storage.octets(at: max(0, storage.size - endLength - longestComment), endLength + longestComment)
        guard let end = (0..<max(0, tail.count - endLength + 1)).last(where: { number(tail, $0) == Signature.end }) else {
            throw .truncated(path: path, offset: storage.size, packetsBefore: 0)
        }
        var (length, offset) = (Int(number(tail, end + 12)), Int(number(tail, end + 16)))
        if offset == 0xFFFF_FFFF, end >= 20, number(tail, end - 20) == Signature.locator64 {
            let record = try storage.octets(at: whole(tail, end - 12), 56)
            guard number(record, 0) == Signature.end64 else { throw damaged(path, "its directory is not found") }
            (length, offset) = (whole(record, 40), whole(record, 48))
        }
        guard length <= longestDirectory else { throw damaged(path, "its directory has \(length) bytes") }
        let directory = try storage.octets(at: offset, length)
        guard directory.count == length else { throw .truncated(path: path, offset: storage.size, packetsBefore: 0) }
        let entries = entries(directory)
        return Archive(
            path: path,
            members: entries.map { entry in
                Archive.Member(name: entry.name, size: entry.size) { () throws(CaptureError) in
                    try open(entry, storage, path: path + "/" + entry.name)
                }
            })
    }

    private static func entries(_ directory: [UInt8]) -> [Entry] {
        var (entries, at): ([Entry], Int) = ([], 0)
        while at + entryLength <= directory.count, number(directory, at) == Signature.entry, entries.count < Archive.mostMembers {
            let lengths = (28...32).filter { $0 % 2 == 0 }.map { Int(short(directory, at + $0)) }
            let start = at + entryLength
            let next = start + lengths.reduce(0, +)
            guard next <= directory.count else { break }
            var entry = Entry(
                name: String(decoding: directory[start..<start + lengths[0]], as: UTF8.self), method: short(directory, at + 10),
                isEncrypted: short(directory, at + 8) & 1 != 0, packed: Int(number(directory, at + 20)),
                size: Int(number(directory, at + 24)), offset: Int(number(directory, at + 42)))
            extend(&entry, directory[start + lengths[0]..<start + lengths[0] + lengths[1]])
            if !entry.name.hasSuffix("/") { entries.append(entry) }
            at = next
        }
        return entries
    }

    /// Takes 64-bit sizes and offset from the extra field, where the 32-bit ones are all ones.
    private static func extend(_ entry: inout Entry, _ extra: ArraySlice<UInt8>) {
        var rest = extra
        while let id: UInt16 = rest.number(at: 0, big: false), let length: UInt16 = rest.number(at: 2, big: false) {
            var value = rest.dropFirst(4).prefix(Int(length))
            rest = rest.dropFirst(4 + Int(length))
            guard id == 1 else { continue }
            func next() -> Int? {
                defer { value = value.dropFirst(8) }
                return value.number(UInt64.self, at: 0, big: false).flatMap { Int(exactly: $0) }
            }
            if entry.size == 0xFFFF_FFFF { entry.size = next() ?? entry.size }
            if entry.packed == 0xFFFF_FFFF { entry.packed = next() ?? entry.packed }
            if entry.offset == 0xFFFF_FFFF { entry.offset = next() ?? entry.offset }
        }
    }

    private static func open(_ entry: Entry, _ storage: ArchiveStorage, path: String) throws(CaptureError) -> FileSource {
        if entry.isEncrypted { throw .unsuitable(path: path, reason: "it is encrypted: unpack it first") }
        let header = try storage.octets(at: entry.offset, localLength)
        guard header.count == localLength, number(header, 0) == Signature.local else { throw damaged(path, "its header is not found") }
        let start = entry.offset + localLength + Int(short(header, 26)) + Int(short(header, 28))
        let packed = FileSource(path: path, PartStream(of: storage, from: start, length: entry.packed))
        switch entry.method {
        case 0: return packed
        case 8: return FileSource(path: path, Inflater(packed, .none))
        default: throw .unsuitable(path: path, reason: "it is compressed by method \(entry.method): unpack it first")
        }
    }

    private static func damaged(_ path: String, _ reason: String) -> CaptureError { .malformed(path: path, offset: 0, reason: reason) }
    private static func short(_ octets: [UInt8], _ at: Int) -> UInt16 { octets[...].number(at: at, big: false) ?? 0 }
    private static func number(_ octets: [UInt8], _ at: Int) -> UInt32 { octets[...].number(at: at, big: false) ?? 0 }
    private static func whole(_ octets: [UInt8], _ at: Int) -> Int {
        Int(clamping: octets[...].number(UInt64.self, at: at, big: false) ?? 0)
    }
}
