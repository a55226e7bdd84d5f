import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Octets in sequence: of a file, of memory, or expanded from others.
protocol OctetStream: AnyObject {
    /// The next octets, `count` at most; none at the end.
    func read(_ count: Int) throws(CaptureError) -> [UInt8]
}

/// `read` outside of the classes that have a method of this name.
private func readOctets(_ descriptor: Int32, _ room: UnsafeMutableRawPointer?, _ count: Int) -> Int { read(descriptor, room, count) }

/// An open file.
final class FileStream: OctetStream {
    let path: String
    private let descriptor: Int32
    /// Octets read from the file.
    private var length = 0
    /// Called at the end of the file: true to read again, because the file may have grown; nil to end there.
    var onEnd: (() -> Bool)?

    init(path: String) throws(CaptureError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: systemText(errno)) }
    }

    deinit { close(descriptor) }

    /// Size of a regular file; nil for a pipe or device.
    var size: Int? {
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(information.st_size)
    }

    func read(_ count: Int) throws(CaptureError) -> [UInt8] {
        while true {
            let piece = try piece(count) { readOctets(descriptor, $0, $1) }
            length += piece.count
            if !piece.isEmpty { return piece }
            guard let onEnd, onEnd() else { return [] }
            if let size, size < length { throw .readFailed(path: path, reason: "it has become shorter") }
        }
    }

    /// Octets at a position of a regular file; fewer at its end.
    func octets(at offset: Int, _ count: Int) throws(CaptureError) -> [UInt8] {
        var octets: [UInt8] = []
        while octets.count < count {
            let start = offset + octets.count
            let piece = try piece(min(1 << 20, count - octets.count)) { pread(descriptor, $0, $1, off_t(start)) }
            if piece.isEmpty { break }
            octets += piece
        }
        return octets
    }

    private func piece(_ count: Int, _ read: (UnsafeMutableRawPointer?, Int) -> Int) throws(CaptureError) -> [UInt8] {
        while true {
            var (got, code) = (0, Int32(0))
            let piece = [UInt8](unsafeUninitializedCapacity: count) { room, filled in
                got = read(room.baseAddress, room.count)
                code = errno
                filled = max(0, got)
            }
            if got >= 0 { return piece }
            if code != EINTR { throw .readFailed(path: path, reason: systemText(code)) }
        }
    }
}

/// Octets in memory.
final class MemoryStream: OctetStream {
    private var rest: ArraySlice<UInt8>

    init(_ octets: [UInt8]) { rest = octets[...] }

    func read(_ count: Int) -> [UInt8] {
        let piece = Array(rest.prefix(count))
        rest = rest.dropFirst(count)
        return piece
    }
}

/// Part of a file, or of another source that is read in sequence.
final class PartStream: OctetStream {
    private let part: (Int) throws(CaptureError) -> [UInt8]
    private var left: Int

    /// The next `length` octets of a source.
    init(of source: FileSource, length: Int) {
        left = length
        part = { count throws(CaptureError) in
            let piece = try source.peek(count)
            _ = try source.skip(piece.count)
            return Array(piece)
        }
    }

    /// Octets of an archive from a position on.
    init(of storage: ArchiveStorage, from start: Int, length: Int) {
        left = length
        var offset = start
        part = { count throws(CaptureError) in
            let piece = try storage.octets(at: offset, count)
            offset += piece.count
            return piece
        }
    }

    func read(_ count: Int) throws(CaptureError) -> [UInt8] {
        let piece = try part(min(count, left))
        left -= piece.count
        return piece
    }
}
