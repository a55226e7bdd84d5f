import Transport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file read forward through a bounded buffer.
final class FileSource {
    let path: String
    /// Where the next octet lies in the file.
    private(set) var offset = 0
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false

    /// The longest piece that may be asked for at once.
    static let longestPiece = 1 << 24

    init(path: String) throws(CaptureError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: systemText(errno)) }
    }

    deinit { close(descriptor) }

    /// The next `count` octets, fewer at the end of the file, without moving on.
    func peek(_ count: Int) throws(CaptureError) -> ArraySlice<UInt8> {
        try fill(count)
        return buffer[position..<min(buffer.count, position + count)]
    }

    /// The next `count` octets; nil when the file ends before them.
    func take(_ count: Int) throws(CaptureError) -> ArraySlice<UInt8>? {
        let piece = try peek(count)
        guard piece.count == count else { return nil }
        position += count
        offset += count
        return piece
    }

    /// Moves on by `count` octets; false when the file ends before.
    func skip(_ count: Int) throws(CaptureError) -> Bool {
        var left = count
        while left > 0 {
            let step = min(left, 1 << 16)
            guard try take(step) != nil else { return false }
            left -= step
        }
        return true
    }

    private func fill(_ count: Int) throws(CaptureError) {
        let wanted = min(count, Self.longestPiece)
        guard buffer.count - position < wanted, !isAtEnd else { return }
        buffer.removeFirst(position)
        position = 0
        while buffer.count < wanted, !isAtEnd {
            var got = 0
            let piece = [UInt8](unsafeUninitializedCapacity: max(1 << 16, wanted - buffer.count)) { room, count in
                got = read(descriptor, room.baseAddress, room.count)
                count = max(0, got)
            }
            buffer.append(contentsOf: piece)
            if got == 0 { isAtEnd = true }
            if got < 0, errno != EINTR { throw .readFailed(path: path, reason: systemText(errno)) }
        }
    }
}
