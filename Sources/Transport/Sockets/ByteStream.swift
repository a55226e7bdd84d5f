import Packets
import Timing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A stream descriptor that the loop itself reads and writes: a TCP or Unix socket, or a serial line.
///
/// What the other end sends faster than the loop works waits in the kernel's buffer and holds the sender back. What it reads too slowly waits
/// in a bounded queue; when that is full, the stream ends with `overrun`.
public final class ByteStream {
    /// What the stream delivers to.
    public protocol Sink: AnyObject {
        /// The octets are valid during the call only.
        func received(_ octets: UnsafeRawBufferPointer)
        /// The stream ended and will deliver nothing more.
        func ended(_ reason: TransportError)
    }

    public let name: String
    let loop: RunLoop
    public var isOpen: Bool { descriptor >= 0 && !isEnding }

    private var descriptor: Int32
    private let isSocket: Bool
    private let queueLimit: Int
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 15, alignment: 16)
    private static let readsPerTurn = 4
    private var queue: [UInt8] = []
    private var queuedWrites = 0
    /// Unowned, as a sink that goes closes the stream: a weak reference would slow every read down.
    private unowned var sink: (any Sink)? { didSet { isDelivering = sink != nil } }
    /// Asked after every read, where taking hold of the sink once more would cost more than the question.
    private var isDelivering = false
    private var isEnding = false
    /// Whether the other end has never said anything to us, who called.
    private var isUnanswered = false

    /// Takes over an open descriptor and closes it in the end.
    ///
    /// - Parameters:
    ///   - isCaller: whether this end has asked for the connection.
    ///   - queueLimit: how many octets may wait for a slow reader.
    public init(name: String, descriptor: Int32, on loop: RunLoop, isCaller: Bool = false, queueLimit: Int = 1 << 22) {
        self.name = name
        self.descriptor = descriptor
        self.loop = loop
        self.queueLimit = queueLimit
        isSocket = systemIsSocket(descriptor)
        isUnanswered = isCaller
        setNonBlocking(descriptor)
    }

    deinit {
        release()
        room.deallocate()
    }

    /// The address of the other end of a TCP connection, without its port; empty for anything else.
    public var peerHost: [UInt8] {
        var storage = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        guard isOpen, status == 0 else { return [] }
        let octets = withUnsafeBytes(of: storage) { [UInt8]($0) }
        switch Int32(storage.sin6_family) {
        case AF_INET: return Array(octets[4..<8])
        case AF_INET6: return Array(octets[8..<24])
        default: return []
        }
    }

    #if os(Linux)
        /// The process at the other end of a Unix socket.
        public var peerProcess: Int32? {
            // The system's `struct ucred`: process, user and group.
            var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
            var length = socklen_t(12)
            guard isOpen, getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
            return credentials.process > 0 ? credentials.process : nil
        }
    #endif

    /// Starts delivery. The stream does not keep the sink alive, which closes it before it goes.
    ///
    /// - Throws: `lost` after the end; `unreachable` on a loop in virtual time.
    public func open(_ sink: any Sink) throws(TransportError) {
        guard isOpen else { throw .lost(name) }
        guard loop.mode == .wall else { throw .unreachable("\(name) in virtual time: it lives in wall time") }
        self.sink = sink
        watch(queue.isEmpty ? .read : [.read, .write])
    }

    /// Writes at once what the system takes, and the rest when it can. Never calls the sink.
    public func send(_ octets: [UInt8]) { octets.withUnsafeBytes { send($0) } }

    /// The same with borrowed octets.
    public func send(_ octets: UnsafeRawBufferPointer) {
        guard isOpen else { return }
        if queue.isEmpty {
            let written = write(octets)
            guard written >= 0, written < octets.count else { return }
            queue = Array(octets[written...])
            queuedWrites = 1
            if sink != nil { watch([.read, .write]) }
        } else if queue.count + octets.count <= queueLimit {
            queue.append(contentsOf: octets)
            queuedWrites += 1
        } else {
            endSoon(with: .overrun(dropped: queuedWrites + 1))
        }
    }

    /// Ends delivery until the stream is opened anew; what comes meanwhile waits with the system.
    func rest() {
        sink = nil
        if isOpen { loop.unwatch(descriptor) }
    }

    /// One octet, waited for before delivery begins; nil when none comes in so many milliseconds.
    func nextOctet(within timeout: Int32) -> UInt8? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var octet: UInt8 = 0
        guard isOpen, poll(&entry, 1, timeout) > 0, read(descriptor, &octet, 1) == 1 else { return nil }
        return octet
    }

    /// Ends the stream from this side; the sink hears nothing more.
    public func close() {
        sink = nil
        release()
    }

    /// How many octets were taken; negative after an error, which ends the stream.
    @inline(__always) private func write(_ octets: UnsafeRawBufferPointer) -> Int {
        while true {
            let written = systemSend(descriptor, octets.baseAddress, octets.count)
            if written >= 0 { return written }
            if errno == EINTR { continue }
            if errno == EAGAIN || errno == EWOULDBLOCK { return 0 }
            endSoon(with: loss)
            return -1
        }
    }

    private func watch(_ interest: DescriptorInterest) {
        // A socket tells of everything that comes; a serial line may have more behind a short read.
        loop.watch(descriptor, for: interest, triggered: isSocket ? .edge : .level) { [unowned self] readiness in serve(readiness) }
    }

    private func serve(_ readiness: DescriptorInterest) {
        if readiness.contains(.write), !queue.isEmpty { drain() }
        if !readiness.isDisjoint(with: [.read, .hangUp]), isOpen { receive(isLast: !readiness.isDisjoint(with: .hangUp)) }
    }

    /// Writes until the system takes no more.
    private func drain() {
        while !queue.isEmpty {
            let written = queue.withUnsafeBytes { write($0) }
            guard written > 0 else { return }
            queue.removeFirst(written)
        }
        queuedWrites = 0
        watch(.read)
    }

    /// Reads until there is no more, but leaves others their turn.
    ///
    /// - Parameter isLast: whether the end comes behind what can be read.
    @inline(__always) private func receive(isLast: Bool) {
        for _ in 0..<Self.readsPerTurn {
            let got = isSocket ? recv(descriptor, room.baseAddress, room.count, 0) : read(descriptor, room.baseAddress, room.count)
            guard got > 0 else {
                if got < 0, errno == EINTR { continue }
                if got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) { end(with: loss) }
                return
            }
            isUnanswered = false
            sink?.received(UnsafeRawBufferPointer(rebasing: room[..<got]))
            guard isOpen, isDelivering else { return }
            if got < room.count, !isLast { return }
        }
        watch(queue.isEmpty ? .read : [.read, .write])
    }

    /// A server with one place closes the connection of a second client before it says anything.
    private var loss: TransportError {
        isUnanswered ? .unprepared("\(name) hung up before it said anything: another client may be using it") : .lost(name)
    }

    /// Ends the stream from within a call of the user, where the sink may not be called.
    private func endSoon(with reason: TransportError) {
        guard !isEnding else { return }
        isEnding = true
        loop.schedule(after: .zero) { [weak self] in self?.end(with: reason) }
    }

    private func end(with reason: TransportError) {
        let sink = self.sink
        self.sink = nil
        release()
        sink?.ended(reason)
    }

    private func release() {
        guard descriptor >= 0 else { return }
        loop.unwatch(descriptor)
        systemClose(descriptor)
        descriptor = -1
    }
}
