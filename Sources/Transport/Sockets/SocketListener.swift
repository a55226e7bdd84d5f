import BBPackets
import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Accepts connections on a TCP port or a Unix socket as streams.
public final class SocketListener {
    /// Listening address, with the actual port if port 0 was given.
    public let address: SocketAddress
    /// Called on the loop with the reason why no connection can be accepted for the moment.
    public var onImpediment: ((String) -> Void)?

    private let loop: RunLoop
    private var descriptor: Int32
    private var action: ((ByteStream) -> Void)?
    private var isHindered = false
    /// Pause before accepting again after a failure; connections wait in the system's queue.
    private static let pause = Microseconds.seconds(1)

    /// Starts listening. Replaces a Unix socket left behind by a process that has exited.
    ///
    /// - Throws: `busy` if the address is in use, `notPermitted`, `unreachable`.
    public init(_ address: SocketAddress, on loop: RunLoop) throws(TransportError) {
        self.loop = loop
        if case .unix(let path) = address { try Self.clear(path) }
        let outcome = address.withSystemAddresses(passive: true) { family, system, length in
            let descriptor = socket(family, streamSocket, 0)
            guard descriptor >= 0 else { return .failure(SystemError(code: errno)) }
            setOption(descriptor, SOL_SOCKET, SO_REUSEADDR)
            guard bind(descriptor, system, length) == 0, listen(descriptor, 16) == 0 else {
                let code = errno
                systemClose(descriptor)
                return .failure(SystemError(code: code))
            }
            return .success(descriptor)
        }
        switch outcome {
        case .success(let descriptor):
            self.descriptor = descriptor
            self.address = Self.chosen(address, descriptor)
            setNonBlocking(descriptor)
        case .failure(let failure):
            descriptor = -1
            self.address = address
            switch failure.code {
            case EADDRINUSE: throw .busy(address.description)
            case EACCES, EPERM: throw .notPermitted("\(address): \(failure.text)")
            default: throw .unreachable("\(address): \(failure.text)")
            }
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        loop.unwatch(descriptor)
        systemClose(descriptor)
    }

    /// Calls `action` on the loop with each connection.
    public func start(_ action: @escaping (ByteStream) -> Void) {
        self.action = action
        watch()
    }

    private func watch() {
        guard descriptor >= 0 else { return }
        loop.watch(descriptor, for: .read) { [weak self] _ in self?.take() }
    }

    private func take() {
        let accepted = accept(descriptor, nil, nil)
        guard accepted >= 0 else {
            if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { rest(because: systemText(errno)) }
            return
        }
        isHindered = false
        if case .tcp = address { setNoDelay(accepted) }
        action?(ByteStream(name: address.description, descriptor: accepted, on: loop))
    }

    /// The connection that could not be accepted keeps the descriptor ready, so retrying at once would be a busy loop.
    private func rest(because reason: String) {
        loop.unwatch(descriptor)
        if !isHindered { onImpediment?("\(address): no connection can be taken: \(reason)") }
        isHindered = true
        loop.schedule(after: Self.pause) { [weak self] in self?.watch() }
    }

    /// Stops listening; accepted connections stay open.
    public func stop() {
        guard descriptor >= 0 else { return }
        loop.unwatch(descriptor)
        systemClose(descriptor)
        descriptor = -1
        if case .unix(let path) = address { unlink(path) }
    }

    private static func chosen(_ address: SocketAddress, _ descriptor: Int32) -> SocketAddress {
        guard case .tcp(let host, 0) = address else { return address }
        var storage = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        // The port is at the same offset for both address families.
        return status == 0 ? .tcp(host: host, port: UInt16(bigEndian: storage.sin6_port)) : address
    }

    /// Removes a Unix socket without a listener.
    private static func clear(_ path: String) throws(TransportError) {
        var information = stat()
        guard lstat(path, &information) == 0 else { return }
        guard information.st_mode & S_IFMT == S_IFSOCK else {
            throw .unprepared("unix:\(path): a file of this name exists and is not a socket")
        }
        let probe = SocketAddress.unix(path: path).withSystemAddresses(passive: false) { family, system, length in
            let descriptor = socket(family, streamSocket, 0)
            defer { systemClose(descriptor) }
            return connect(descriptor, system, length) == 0 ? .success(0) : .failure(SystemError(code: errno))
        }
        if case .failure(let failure) = probe, failure.code == ECONNREFUSED { unlink(path) }
    }
}
