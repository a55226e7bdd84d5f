import Packets
import Timing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// HCI packets over a stream descriptor: a TCP or Unix socket, or a serial line. Read and written by the loop itself, without a thread between.
///
/// What the other end sends faster than the loop works waits in the kernel's buffer and holds the sender back. What it reads too slowly waits
/// in a bounded queue; when that is full, the pipe ends with `overrun`.
/// `@unchecked Sendable`: lives on its loop's thread only.
public final class DescriptorTransport: HCITransport, @unchecked Sendable {
    public let name: String
    /// Packets received and sent so far.
    public private(set) var receivedCount = 0
    public private(set) var sentCount = 0

    private let loop: RunLoop
    private var descriptor: Int32
    private let queueLimit: Int
    private var framer = H4Framer()
    private var room = [UInt8](repeating: 0, count: 1 << 15)
    private var queue: [UInt8] = []
    private var unsentPackets = 0
    private var sink: (any HCITransportSink)?
    private var isEnding = false

    /// Takes over an open descriptor and closes it in the end.
    ///
    /// - Parameter queueLimit: how many octets may wait for a slow reader.
    public init(name: String, descriptor: Int32, on loop: RunLoop, queueLimit: Int = 1 << 22) {
        self.name = name
        self.descriptor = descriptor
        self.loop = loop
        self.queueLimit = queueLimit
        setNonBlocking(descriptor)
    }

    deinit { if descriptor >= 0 { systemClose(descriptor) } }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        guard descriptor >= 0 else { throw .lost(name) }
        guard loop.mode == .wall else { throw .unreachable("\(name) in virtual time: it lives in wall time") }
        self.sink = sink
        watch(.read)
    }

    public func send(_ packet: HCIPacket) {
        guard descriptor >= 0, !isEnding else { return }
        sentCount += 1
        if queue.isEmpty {
            let octets = packet.h4
            let written = write(octets)
            guard written >= 0, written < octets.count else { return }
            queue = Array(octets[written...])
            unsentPackets = 1
            if sink != nil { watch([.read, .write]) }
        } else if queue.count + packet.bytes.count < queueLimit {
            queue.append(packet.kind.rawValue)
            queue.append(contentsOf: packet.bytes)
            unsentPackets += 1
        } else {
            end(with: .overrun(dropped: unsentPackets + 1))
        }
    }

    public func close() {
        sink = nil
        release()
    }

    /// How many octets were taken; negative after an error, which ends the pipe.
    private func write(_ octets: [UInt8]) -> Int {
        while true {
            let written = octets.withUnsafeBytes { systemSend(descriptor, $0.baseAddress, $0.count) }
            if written >= 0 { return written }
            if errno == EINTR { continue }
            if errno == EAGAIN || errno == EWOULDBLOCK { return 0 }
            end(with: .lost(name))
            return -1
        }
    }

    private func watch(_ interest: DescriptorInterest) {
        loop.watch(descriptor, for: interest) { [weak self] readiness in self?.serve(readiness) }
    }

    private func serve(_ readiness: DescriptorInterest) {
        if readiness.contains(.write), !queue.isEmpty { drain() }
        if !readiness.isDisjoint(with: [.read, .hangUp]), descriptor >= 0 { receive() }
    }

    private func drain() {
        let written = write(queue)
        guard written > 0 else { return }
        queue.removeFirst(written)
        if queue.isEmpty {
            unsentPackets = 0
            watch(.read)
        }
    }

    private func receive() {
        let got = room.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        if got > 0 {
            room.withUnsafeBytes { framer.append(UnsafeRawBufferPointer(rebasing: $0[..<got])) }
            deliver()
        } else if got == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
            finish(with: .lost(name))
        }
    }

    private func deliver() {
        do {
            while let sink, let packet = try framer.next() {
                receivedCount += 1
                sink.received(packet, at: loop.now)
            }
        } catch {
            finish(with: .desynchronised("\(name): \(error)"))
        }
    }

    /// Ends the pipe from within `send(_:)`, where the sink may not be called.
    private func end(with reason: TransportError) {
        guard !isEnding else { return }
        isEnding = true
        loop.schedule(after: .zero) { [weak self] in self?.finish(with: reason) }
    }

    private func finish(with reason: TransportError) {
        let sink = self.sink
        self.sink = nil
        release()
        sink?.closed(reason)
    }

    private func release() {
        guard descriptor >= 0 else { return }
        loop.unwatch(descriptor)
        systemClose(descriptor)
        descriptor = -1
    }
}
