/// The files of a tar archive in sequence. POSIX.1-2017, pax, ustar interchange format.
struct TarDirectory {
    static let headerLength = 512
    private static let magic = Array("ustar".utf8)
    private static let longestName = 1 << 16

    private let source: FileSource
    /// Offset of the header after the current file.
    private var next = 0

    init(_ source: FileSource) { self.source = source }

    static func recognises(_ prefix: ArraySlice<UInt8>) -> Bool {
        prefix.dropFirst(257).starts(with: magic)
    }

    /// Name and size of the next regular file, at whose octets the source then is; nil at the end.
    mutating func nextFile() throws(CaptureError) -> (name: String, size: Int)? {
        var longName: String?
        while true {
            guard try source.skip(max(0, next - source.offset)), let header = try source.take(Self.headerLength).map(Array.init) else {
                return nil
            }
            guard header[257..<262].elementsEqual(Self.magic), let size = Self.size(header[124..<136]) else { return nil }
            next = source.offset + (size + 511) / 512 * 512
            switch header[156] {
            case UInt8(ascii: "L"), UInt8(ascii: "x"):
                guard size <= Self.longestName, let value = try source.take(size) else { return nil }
                longName = header[156] == UInt8(ascii: "L") ? Self.text(value) : Self.path(value) ?? longName
            case UInt8(ascii: "0"), 0:
                let folder = Self.text(header[345..<500])
                let name = Self.text(header[0..<100])
                return (longName ?? (folder.isEmpty ? name : folder + "/" + name), size)
            default: longName = nil
            }
        }
    }

    /// Octal digits, or a number in base 256.
    private static func size(_ field: ArraySlice<UInt8>) -> Int? {
        if field.first == 0x80 { return field.dropFirst(4).number(UInt64.self, at: 0, big: true).flatMap { $0 < 1 << 48 ? Int($0) : nil } }
        let digits = field.filter { (48...55).contains($0) }
        guard digits.count <= 12 else { return nil }
        return digits.reduce(0) { $0 << 3 | Int($1 - 48) }
    }

    private static func text(_ field: ArraySlice<UInt8>) -> String { String(decoding: field.prefix { $0 != 0 }, as: UTF8.self) }

    /// The path of a pax header: lines of length, keyword and value.
    private static func path(_ records: ArraySlice<UInt8>) -> String? {
        let lines = String(decoding: records, as: UTF8.self).split(separator: "\n")
        return lines.compactMap { line in line.split(separator: " ", maxSplits: 1).last }.first { $0.hasPrefix("path=") }
            .map { String($0.dropFirst(5)) }
    }
}

extension TarDirectory {
    /// The files of a tar archive. From a pipe only the first file whose name is that of a capture.
    static func archive(_ source: FileSource, _ again: (() throws(CaptureError) -> FileSource)?) throws(CaptureError) -> Archive {
        var directory = TarDirectory(source)
        var members: [Archive.Member] = []
        var index = 0
        while members.count < Archive.mostMembers, let (name, size) = try directory.nextFile() {
            let path = source.path + "/" + name
            if let again {
                let place = index
                members.append(
                    Archive.Member(name: name, size: size) { () throws(CaptureError) in
                        try file(place, of: again(), path: path)
                    })
            } else if Archive.rank(name) != nil {
                members.append(
                    Archive.Member(name: name, size: size) { () throws(CaptureError) in
                        FileSource(path: path, PartStream(of: source, length: size))
                    })
                break
            }
            index += 1
        }
        return Archive(path: source.path, members: members)
    }

    private static func file(_ index: Int, of source: FileSource, path: String) throws(CaptureError) -> FileSource {
        var directory = TarDirectory(source)
        var size = 0
        for _ in 0...index { size = try directory.nextFile()?.size ?? 0 }
        return FileSource(path: path, PartStream(of: source, length: size))
    }
}
