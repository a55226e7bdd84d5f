import BBPackets
import BBTransport

/// A pipe that outlives its users: each one opens it, and closing only ends the delivery to that user.
public final class HeldBTPPipe: BTPPipe {
    public var name: String { inner.name }
    private let inner: any BTPPipe
    private var isOpen = false
    public private(set) var hasDelivered = false
    /// The device that the host has met last, and may have bonded with.
    public var lastPeer: DeviceAddress?
    private var failure: TransportError?
    private var received: ([UInt8]) -> Void = { _ in }
    private var ended: (TransportError) -> Void = { _ in }

    public init(_ inner: any BTPPipe) { self.inner = inner }

    public func open(received: @escaping ([UInt8]) -> Void, ended: @escaping (TransportError) -> Void) throws(TransportError) {
        if let failure { throw failure }
        (self.received, self.ended) = (received, ended)
        guard !isOpen else { return }
        isOpen = true
        try inner.open(
            received: { [weak self] octets in
                self?.hasDelivered = true
                self?.received(octets)
            },
            ended: { [weak self] reason in
                self?.failure = reason
                self?.ended(reason)
            })
    }

    public func send(_ octets: [UInt8]) { inner.send(octets) }

    public func close() {
        received = { _ in }
        ended = { _ in }
    }

    /// Closes the pipe itself.
    public func end() { inner.close() }
}
