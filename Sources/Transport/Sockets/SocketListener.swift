import Packets
import Timing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Waits for connections on a TCP port or a Unix socket and hands each over as a stream.
public final class SocketListener {
    /// Where it listens; a port that was given as 0 is the chosen one here.
    public let address: SocketAddress
    /// Told, on the loop, why no connection can be taken for the moment.
    public var onImpediment: ((String) -> Void)?

    private let loop: RunLoop
    private var descriptor: Int32
    private var action: ((ByteStream) -> Void)?
    private var isHindered = false
    /// How long connections wait in the system's queue after one could not be taken.
    private static let pause = Microseconds.seconds(1)

    /// Starts listening. A Unix socket left behind by a process that is gone is replaced.
    ///
    /// - Throws: `busy` when somebody listens there, `notPermitted`, `unreachable`.
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

    /// The connection that cannot be taken stays in the queue, and the descriptor ready: to look again at once would only heat the machine.
    private func rest(because reason: String) {
        loop.unwatch(descriptor)
        if !isHindered { onImpediment?("\(address): no connection can be taken: \(reason)") }
        isHindered = true
        loop.schedule(after: Self.pause) { [weak self] in self?.watch() }
    }

    /// Stops listening; connections that were handed over stay.
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
        // The port lies at the same place for both families.
        return status == 0 ? .tcp(host: host, port: UInt16(bigEndian: storage.sin6_port)) : address
    }

    /// Removes a socket that nobody listens on any more.
    private static func clear(_ path: String) throws(TransportError) {
        var information = stat()
        guard lstat(path, &information) == 0 else { return }
        guard information.st_mode & S_IFMT == S_IFSOCK else {
            throw .unprepared("unix:\(path): there is a file of this name, which is no socket")
        }
        let probe = SocketAddress.unix(path: path).withSystemAddresses(passive: false) { family, system, length in
            let descriptor = socket(family, streamSocket, 0)
            defer { systemClose(descriptor) }
            return connect(descriptor, system, length) == 0 ? .success(0) : .failure(SystemError(code: errno))
        }
        if case .failure(let failure) = probe, failure.code == ECONNREFUSED { unlink(path) }
    }
}
