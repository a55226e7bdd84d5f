import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file written through a bounded buffer, or another taker of its octets. After the first error nothing more is written.
final class FileSink {
    let path: String
    private var descriptor: Int32
    private var buffer: [UInt8] = []
    private let limit: Int
    private var failure: CaptureError?
    /// Takes the octets in place of a file.
    private let take: (([UInt8]) -> Void)?

    /// - Parameter take: called with the octets of each part.
    init(_ name: String, limit: Int = 1 << 16, _ take: @escaping ([UInt8]) -> Void) {
        (path, self.limit, self.take, descriptor) = (name, limit, take, -1)
    }

    /// - Parameter isSecret: restrict access of a regular file to its owner, even if the file existed before.
    init(path: String, limit: Int = 1 << 16, isSecret: Bool = false) throws(CaptureError) {
        self.path = path
        self.limit = limit
        take = nil
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, isSecret ? 0o600 : 0o644)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: systemText(errno)) }
        try takeOver()
        if isSecret, isRegular { fchmod(descriptor, 0o600) }
        buffer.reserveCapacity(limit + 4096)
    }

    /// Truncates a regular file, unless another process is writing it.
    private func takeOver() throws(CaptureError) {
        guard isRegular else { return }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw .cannotOpen(path: path, reason: "another program writes it")
        }
        ftruncate(descriptor, 0)
    }

    private var isRegular: Bool {
        var information = stat()
        return fstat(descriptor, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Appends the octets that `body` adds to the buffer. Call it once per packet, so that an error does not leave half a packet in the
    /// buffer.
    func write(_ body: (inout [UInt8]) -> Void) throws(CaptureError) {
        if let failure { throw failure }
        body(&buffer)
        if buffer.count >= limit { try flush() }
    }

    /// Flushes the buffer to the file.
    func flush() throws(CaptureError) {
        if let failure { throw failure }
        if let take {
            take(buffer)
            return buffer.removeAll(keepingCapacity: true)
        }
        let code = writeAll(buffer[...], to: descriptor)
        guard code == 0 else {
            let error = CaptureError.writeFailed(path: path, reason: systemText(code))
            failure = error
            buffer = []
            throw error
        }
        buffer.removeAll(keepingCapacity: true)
    }

    func finish() throws(CaptureError) {
        guard descriptor >= 0 else {
            if take != nil { try flush() }
            return
        }
        defer {
            close(descriptor)
            descriptor = -1
        }
        try flush()
    }
}
