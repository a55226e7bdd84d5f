import BBBTP
import BBPackets
import BBTiming
import BBTransport

/// A stream of octets to the other end of the Bluetooth Test Protocol.
public protocol BTPPipe: AnyObject {
    var name: String { get }
    /// True if an earlier user has received something: the other end does not report again that it is ready.
    var hasDelivered: Bool { get }
    /// Starts delivery; both closures are called on the loop.
    func open(received: @escaping ([UInt8]) -> Void, ended: @escaping (TransportError) -> Void) throws(TransportError)
    /// Sends octets; those of a message are one write.
    func send(_ octets: [UInt8])
    func close()
}

extension BTPPipe {
    public var hasDelivered: Bool { false }
}

/// A pipe over a socket or a serial line.
public final class BTPSocket: BTPPipe, ByteStream.Sink {
    public var name: String { stream.name }
    private let stream: ByteStream
    private var onReceived: ([UInt8]) -> Void = { _ in }
    private var onEnd: (TransportError) -> Void = { _ in }

    public init(_ stream: ByteStream) { self.stream = stream }

    deinit { stream.close() }

    public func open(received: @escaping ([UInt8]) -> Void, ended: @escaping (TransportError) -> Void) throws(TransportError) {
        (onReceived, onEnd) = (received, ended)
        try stream.open(self)
    }

    public func send(_ octets: [UInt8]) { stream.send(octets) }
    public func close() { stream.close() }
    public func received(_ octets: UnsafeRawBufferPointer) { onReceived([UInt8](octets)) }
    public func ended(_ reason: TransportError) { onEnd(reason) }
}

/// The two ends of a pipe within the program. Octets arrive in a later turn of the loop, in the pieces in which they were sent.
public final class BTPLoopback: BTPPipe {
    public let name = "btp"
    private let loop: RunLoop
    private weak var other: BTPLoopback?
    private var onReceived: (([UInt8]) -> Void)?
    private var onEnd: (TransportError) -> Void = { _ in }
    private var waiting: [[UInt8]] = []
    private var isClosed = false

    private init(_ loop: RunLoop) { self.loop = loop }

    public static func pair(on loop: RunLoop) -> (BTPLoopback, BTPLoopback) {
        let (one, two) = (BTPLoopback(loop), BTPLoopback(loop))
        (one.other, two.other) = (two, one)
        return (one, two)
    }

    public func open(received: @escaping ([UInt8]) -> Void, ended: @escaping (TransportError) -> Void) throws(TransportError) {
        (onReceived, onEnd) = (received, ended)
        for octets in waiting { received(octets) }
        waiting = []
    }

    public func send(_ octets: [UInt8]) {
        guard !isClosed, let other else { return }
        loop.schedule(after: .zero) { [weak other] in other?.take(octets) }
    }

    public func close() {
        guard !isClosed else { return }
        isClosed = true
        guard let other else { return }
        loop.schedule(after: .zero) { [weak other] in other?.end() }
    }

    private func take(_ octets: [UInt8]) {
        guard !isClosed else { return }
        if let onReceived { onReceived(octets) } else { waiting.append(octets) }
    }

    private func end() {
        guard !isClosed else { return }
        isClosed = true
        onEnd(.lost(name))
    }
}

extension BTPServer {
    /// Serves a pipe until it ends, after reporting that the host is ready.
    ///
    /// - Parameter ended: called when the tester has left, or has sent what is no frame.
    public func serve(_ pipe: any BTPPipe, ended: @escaping (TransportError) -> Void = { _ in }) throws(TransportError) {
        var framer = BTPFramer()
        output = writer(to: pipe)
        try pipe.open(
            received: { [weak self, weak pipe] octets in
                guard let frames = try? framer.receive(octets) else { return pipe?.close() ?? () }
                for frame in frames { self?.receive(frame) }
            }, ended: ended)
        start()
    }
}
