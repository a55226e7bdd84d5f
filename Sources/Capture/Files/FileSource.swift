/// Octets of a capture, read sequentially through a bounded buffer.
final class FileSource {
    let path: String
    /// Offset of the next octet.
    private(set) var offset = 0
    /// The file itself; nil for what an archive or a text contains.
    let file: FileStream?
    private let stream: any OctetStream
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// The reason why the octets end early, as compressed ones may.
    private(set) var failure: CaptureError?

    /// Called at the end of a file: true to read again, because the file may have grown; nil to end there.
    var onEnd: (() -> Bool)? {
        didSet {
            isAtEnd = false
            file?.onEnd = onEnd
        }
    }

    /// Maximum number of octets per call.
    static let longestPiece = 1 << 24
    private static let pieceLength = 1 << 16

    init(path: String) throws(CaptureError) {
        let file = try FileStream(path: path)
        (self.path, self.file, stream) = (path, file, file)
    }

    /// - Parameter path: name for messages.
    init(path: String, _ stream: any OctetStream) {
        (self.path, self.stream, file) = (path, stream, nil)
    }

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
            let step = min(left, Self.pieceLength)
            guard try take(step) != nil else { return false }
            left -= step
        }
        return true
    }

    /// The next line without its end, and at most `limit` octets of it; nil at the end of the file.
    func line(limit: Int) throws(CaptureError) -> ArraySlice<UInt8>? {
        var searched = 0
        while true {
            let known = buffer.count - position
            if let end = buffer[(position + searched)...].firstIndex(of: 10) { return line(until: end, after: 1, limit) }
            if known >= limit, let rest = try lineStart(limit) { return rest }
            searched = known
            try fill(known + 1)
            if buffer.count - position == known { return known == 0 ? nil : line(until: buffer.count, after: 0, limit) }
        }
    }

    private func line(until end: Int, after: Int, _ limit: Int) -> ArraySlice<UInt8> {
        var line = buffer[position..<end]
        if line.last == 13 { line = line.dropLast() }
        offset += end + after - position
        position = end + after
        return line.prefix(limit)
    }

    /// The start of a line that is longer than the limit, whose rest is skipped.
    private func lineStart(_ limit: Int) throws(CaptureError) -> ArraySlice<UInt8>? {
        guard let start = try take(limit) else { return nil }
        let kept = Array(start)[...]
        while case let piece = try peek(Self.pieceLength), !piece.isEmpty {
            guard let end = piece.firstIndex(of: 10) else {
                _ = try skip(piece.count)
                continue
            }
            _ = try skip(end - piece.startIndex + 1)
            break
        }
        return kept
    }

    private func fill(_ count: Int) throws(CaptureError) {
        let wanted = min(count, Self.longestPiece)
        guard buffer.count - position < wanted, !isAtEnd else { return }
        buffer.removeFirst(position)
        position = 0
        while buffer.count < wanted, !isAtEnd {
            do {
                let piece = try stream.read(max(Self.pieceLength, wanted - buffer.count))
                buffer.append(contentsOf: piece)
                isAtEnd = piece.isEmpty
            } catch {
                if buffer.isEmpty, offset == 0 { throw error }
                (failure, isAtEnd) = (error, true)
            }
        }
    }
}
