import BBPackets
import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A stream descriptor read and written by the loop: a TCP or Unix socket, or a serial line.
///
/// Received data that the loop does not read waits in the kernel's buffer and slows down the sender. Sent data that the peer does not read
/// waits in a bounded queue; when it is full, the stream ends with `overrun`.
public final class ByteStream {
    /// Receiver of the stream's data.
    public protocol Sink: AnyObject {
        /// Octets have arrived; they are valid during the call only.
        func received(_ octets: UnsafeRawBufferPointer)
        /// The stream has ended; no further calls follow.
        func ended(_ reason: TransportError)
    }

    public let name: String
    let loop: RunLoop
    public var isOpen: Bool { descriptor >= 0 && !isEnding }

    private var descriptor: Int32
    private let isSocket: Bool
    private let queueLimit: Int
    /// Octets that wait for a slow reader.
    public var queuedOctets: Int { queue.count }
    /// Called when the last of the waiting octets are written. It must not close the stream.
    public var onDrained: (() -> Void)?
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 15, alignment: 16)
    private static let readsPerTurn = 4
    private var queue: [UInt8] = []
    private var queuedWrites = 0
    /// Unowned: a sink closes the stream before it is released, and a weak reference would slow down every read.
    private unowned var sink: (any Sink)? { didSet { isDelivering = sink != nil } }
    /// Checked after every read, because retaining the sink would cost more.
    private var isDelivering = false
    private var isEnding = false
    /// True if this end made the connection and has received nothing.
    private var isUnanswered = false

    /// Takes ownership of an open descriptor.
    ///
    /// - Parameters:
    ///   - isCaller: true if this end made the connection.
    ///   - queueLimit: maximum octets queued for a slow reader.
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

    /// Address of the peer of a TCP connection, without the port; empty for other streams.
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
        /// Process identifier of the peer of a Unix socket.
        public var peerProcess: Int32? {
            // `struct ucred`: process, user and group.
            var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
            var length = socklen_t(12)
            guard isOpen, getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
            return credentials.process > 0 ? credentials.process : nil
        }
    #endif

    /// Starts delivery. The stream does not retain the sink, which must close the stream before it is released.
    ///
    /// - Throws: `lost` if the stream has ended; `unreachable` on a loop in virtual time.
    public func open(_ sink: any Sink) throws(TransportError) {
        guard isOpen else { throw .lost(name) }
        guard loop.watchesDescriptors else { throw .unreachable("\(name) in virtual time: it lives in wall time") }
        self.sink = sink
        watch(queue.isEmpty ? .read : [.read, .write])
    }

    /// Writes what the system accepts now, and the rest later. Never calls the sink.
    public func send(_ octets: [UInt8]) { octets.withUnsafeBytes { send($0) } }

    /// Writes borrowed octets, as `send(_:)` above.
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

    /// Stops delivery until the stream is opened again; data waits in the kernel meanwhile.
    func rest() {
        sink = nil
        if isOpen { loop.unwatch(descriptor) }
    }

    /// Waits for one octet before delivery starts; nil if none arrives within `timeout` milliseconds.
    func nextOctet(within timeout: Int32) -> UInt8? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var octet: UInt8 = 0
        guard isOpen, poll(&entry, 1, timeout) > 0, read(descriptor, &octet, 1) == 1 else { return nil }
        return octet
    }

    /// Ends the stream from this end without notifying the sink.
    public func close() {
        sink = nil
        release()
    }

    /// Number of octets accepted; negative after an error, which ends the stream.
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
        // A socket reports all new data; a serial line may have more after a short read.
        loop.watch(descriptor, for: interest, triggered: isSocket ? .edge : .level) { [unowned self] readiness in serve(readiness) }
    }

    private func serve(_ readiness: DescriptorInterest) {
        if readiness.contains(.write), !queue.isEmpty { drain() }
        if !readiness.isDisjoint(with: [.read, .hangUp]), isOpen { receive(isLast: !readiness.isDisjoint(with: .hangUp)) }
    }

    /// Writes until the system accepts no more.
    private func drain() {
        while !queue.isEmpty {
            let written = queue.withUnsafeBytes { write($0) }
            guard written > 0 else { return }
            queue.removeFirst(written)
        }
        queuedWrites = 0
        watch(.read)
        onDrained?()
    }

    /// Reads until there is no more data or the turn is over.
    ///
    /// - Parameter isLast: report the end of the stream after the remaining data.
    @inline(__always) private func receive(isLast: Bool) {
        for _ in 0..<Self.readsPerTurn {
            let got = isSocket ? systemReceive(descriptor, room.baseAddress, room.count) : read(descriptor, room.baseAddress, room.count)
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

    /// A server for one client closes a second client's connection without sending anything.
    private var loss: TransportError {
        isUnanswered ? .unprepared("\(name) hung up before it said anything: another client may be using it") : .lost(name)
    }

    /// Ends the stream from within a call by the user, where the sink must not be called.
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
