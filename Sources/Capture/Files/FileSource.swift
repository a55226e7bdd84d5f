import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file read sequentially through a bounded buffer.
final class FileSource {
    let path: String
    /// File offset of the next octet.
    private(set) var offset = 0
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// Octets read from the file.
    private var length = 0

    /// Called at the end of the file: true to read again, because the file may have grown; nil to end there.
    var onEnd: (() -> Bool)? { didSet { isAtEnd = false } }

    /// Maximum number of octets per call.
    static let longestPiece = 1 << 24

    init(path: String) throws(CaptureError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: systemText(errno)) }
    }

    deinit { close(descriptor) }

    /// The next `count` octets without consuming them; fewer at the end of the file.
    func peek(_ count: Int) throws(CaptureError) -> ArraySlice<UInt8> {
        try fill(count)
        return buffer[position..<min(buffer.count, position + count)]
    }

    /// Consumes the next `count` octets; nil if the file ends before.
    func take(_ count: Int) throws(CaptureError) -> ArraySlice<UInt8>? {
        let piece = try peek(count)
        guard piece.count == count else { return nil }
        position += count
        offset += count
        return piece
    }

    /// Skips `count` octets; false if the file ends before.
    func skip(_ count: Int) throws(CaptureError) -> Bool {
        var left = count
        while left > 0 {
            let step = min(left, 1 << 16)
            guard try take(step) != nil else { return false }
            left -= step
        }
        return true
    }

    private func waitsForMore() throws(CaptureError) -> Bool {
        guard let onEnd, onEnd() else { return false }
        var information = stat()
        guard fstat(descriptor, &information) != 0 || Int(information.st_size) >= length else {
            throw .readFailed(path: path, reason: "it has become shorter")
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
            length += max(0, got)
            if got == 0 { isAtEnd = try !waitsForMore() }
            if got < 0, errno != EINTR { throw .readFailed(path: path, reason: systemText(errno)) }
        }
    }
}
