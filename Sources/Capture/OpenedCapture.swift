#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A capture whose format is known: the file itself, or one in an archive.
struct OpenedCapture {
    var format: CaptureFormat
    var input: RecordInput
    var decoder: any RecordDecoder
    var remark: String?

    private static let recognitionLength = 4096
    /// No format has a longer file header.
    private static let shortestFile = 32

    init(path: String, onEnd: (() -> Bool)?) throws(CaptureError) {
        let place = Self.file(of: path) ?? (path, nil)
        let source = try FileSource(path: place.file)
        if let onEnd {
            // The header and a record may not be written yet.
            source.onEnd = onEnd
            _ = try source.peek(Self.shortestFile)
            source.onEnd = nil
        }
        var again: (() throws(CaptureError) -> FileSource)?
        if source.file?.size != nil { again = { () throws(CaptureError) in try FileSource(path: place.file) } }
        self = try Self.open(source, again, member: place.member, isGrowing: onEnd != nil)
        if let onEnd, input.source === source { source.onEnd = onEnd }
    }

    /// The regular file of a path, and the name of a file in that archive; nil if there is no file.
    static func file(of path: String) -> (file: String, member: String?)? {
        var information = stat()
        if stat(path, &information) == 0 { return information.st_mode & S_IFMT == S_IFDIR ? nil : (path, nil) }
        for slash in path.indices.reversed() where path[slash] == "/" && slash > path.startIndex {
            let file = String(path[..<slash])
            guard stat(file, &information) == 0 else { continue }
            return information.st_mode & S_IFMT == S_IFREG ? (file, String(path[path.index(after: slash)...])) : nil
        }
        return nil
    }

    /// - Parameter again: opens the same octets once more from their start; nil for a pipe.
    private static func open(
        _ source: FileSource, _ again: (() throws(CaptureError) -> FileSource)?, member: String?, isGrowing: Bool = false, depth: Int = 0
    ) throws(CaptureError) -> OpenedCapture {
        guard depth <= Archive.deepest else {
            throw .unsuitable(path: source.path, reason: "it has more than \(Archive.deepest) archives in one another")
        }
        let prefix = try source.peek(recognitionLength)
        if prefix.starts(with: Archive.gzipMagic) {
            var expandAgain: (() throws(CaptureError) -> FileSource)?
            if let again { expandAgain = { () throws(CaptureError) in expanded(try again()) } }
            return try open(expanded(source), expandAgain, member: member, depth: depth + 1)
        }
        if prefix.starts(with: ZipDirectory.magic) || prefix.starts(with: ZipDirectory.emptyMagic) {
            return try open(try ZipDirectory.archive(source), member, depth)
        }
        if TarDirectory.recognises(prefix) { return try open(try TarDirectory.archive(source, again), member, depth) }
        if let member { throw .unsuitable(path: source.path, reason: "it is not an archive, and \(member) is not in it") }
        return try recognised(source, prefix, isGrowing: isGrowing)
    }

    private static func expanded(_ source: FileSource) -> FileSource { FileSource(path: source.path, Inflater(source, .gzip)) }

    private static func open(_ archive: Archive, _ name: String?, _ depth: Int) throws(CaptureError) -> OpenedCapture {
        if let name {
            guard let member = archive.member(named: name) else {
                let some = archive.candidates.prefix(5).map(\.name).joined(separator: ", ")
                throw .unsuitable(path: archive.path, reason: "it has no \(name)" + (some.isEmpty ? "" : ", but \(some)"))
            }
            return try open(member.open(), member.open, member: nil, depth: depth + 1)
        }
        var failure: CaptureError?
        let candidates = archive.candidates
        for member in candidates {
            do {
                var opened = try open(member.open(), member.open, member: nil, depth: depth + 1)
                if try opened.input.source.peek(1).isEmpty, opened.format != .log, member.name != candidates.last?.name { continue }
                opened.remark = opened.remark ?? remark(archive, member)
                return opened
            } catch {
                if case .unknownFormat = error { continue }
                failure = failure ?? error
            }
        }
        throw failure ?? .unsuitable(path: archive.path, reason: "none of its \(archive.members.count) files is a capture")
    }

    private static func remark(_ archive: Archive, _ member: Archive.Member) -> String {
        let others = archive.captures.filter { $0 != member.name }.sorted()
        let names = others.prefix(5).joined(separator: ", ") + (others.count > 5 ? ", ..." : "")
        return "reading \(member.name) in \(archive.path)" + (others.isEmpty ? "" : "; name another as \(archive.path)/NAME: \(names)")
    }

    private static func recognised(_ source: FileSource, _ prefix: ArraySlice<UInt8>, isGrowing: Bool) throws(CaptureError) -> OpenedCapture
    {
        let input = RecordInput(source)
        let isWhole = prefix.count < recognitionLength && !isGrowing
        func opened(_ format: CaptureFormat, _ decoder: any RecordDecoder) -> OpenedCapture {
            OpenedCapture(format: format, input: input, decoder: decoder)
        }
        if prefix.starts(with: BTSnoop.magic) { return opened(.btsnoop, try BTSnoopDecoder(input)) }
        if prefix.number(UInt32.self, at: 0, big: true) == PcapNG.Block.sectionHeader { return opened(.pcapng, PcapNGDecoder(input)) }
        if let (big, nanoseconds) = PcapDecoder.recognise(prefix) {
            return opened(.pcap, try PcapDecoder(input, big: big, nanoseconds: nanoseconds))
        }
        if LogDecoder.recognises(prefix) { return opened(.log, try LogDecoder(input)) }
        if source.path.hasSuffix(".etl") { throw .withoutPackets(path: source.path, what: .eventTrace) }
        if PacketLogger.recognises(prefix, isWhole: isWhole, big: true) {
            return opened(.packetLogger, PacketLoggerDecoder(input, big: true))
        }
        if HCIDumpDecoder.recognises(prefix, isWhole: isWhole) { return opened(.hcidump, HCIDumpDecoder(input)) }
        if PacketLogger.recognises(prefix, isWhole: isWhole, big: false) {
            return opened(.packetLogger, PacketLoggerDecoder(input, big: false))
        }
        throw .unknownFormat(path: source.path)
    }

    private init(format: CaptureFormat, input: RecordInput, decoder: any RecordDecoder) {
        (self.format, self.input, self.decoder) = (format, input, decoder)
    }
}
