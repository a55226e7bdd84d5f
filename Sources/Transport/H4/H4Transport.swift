import BBPackets
import BBTiming

/// HCI packets over a byte stream, each after its indicator; a packet is one write. Core Vol 4, Part A.
public final class H4Transport: HCITransport, ByteStream.Sink {
    public var name: String { stream.name }
    /// Number of packets received and sent.
    public private(set) var receivedCount = 0
    public private(set) var sentCount = 0

    /// Called after the sink when the pipe has been closed by either end.
    public var onEnd: ((TransportError) -> Void)?

    private let stream: ByteStream
    private var framer = H4Framer()
    private var sink: (any HCITransportSink)?

    public init(_ stream: ByteStream) { self.stream = stream }

    deinit { stream.close() }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        self.sink = sink
        try stream.open(self)
    }

    public func send(_ packet: HCIPacket) {
        sentCount += 1
        withUnsafeTemporaryAllocation(byteCount: 1 + packet.bytes.count, alignment: 1) { octets in
            octets[0] = packet.kind.rawValue
            packet.bytes.span.bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: octets[1...]).copyMemory(from: $0) }
            stream.send(UnsafeRawBufferPointer(octets))
        }
    }

    public func close() {
        sink = nil
        stream.close()
        tell(.lost(name))
    }

    /// Closes the pipe and notifies both ends.
    public func revoke() {
        onEnd = nil
        stream.close()
        ended(.lost(name))
    }

    public func received(_ octets: UnsafeRawBufferPointer) {
        var octets = octets
        do {
            while !octets.isEmpty, let sink, let packet = try framer.next(of: &octets) {
                receivedCount += 1
                sink.received(packet, at: stream.loop.now)
            }
        } catch {
            stream.close()
            ended(.desynchronised("\(name): \(error)"))
        }
    }

    public func ended(_ reason: TransportError) {
        let sink = self.sink
        self.sink = nil
        sink?.closed(reason)
        tell(reason)
    }

    private func tell(_ reason: TransportError) {
        let onEnd = self.onEnd
        self.onEnd = nil
        onEnd?(reason)
    }
}

extension H4Transport {
    /// Connects to a controller or host that listens for H4.
    ///
    /// - Throws: `unreachable`, `notPermitted`.
    public static func connect(to address: SocketAddress, on loop: RunLoop) throws(TransportError) -> H4Transport {
        H4Transport(try ByteStream.connect(to: address, on: loop))
    }

    /// Connects to a controller of a server that requires the token from the environment.
    ///
    /// - Throws: `unreachable`, `notPermitted`, `unprepared` if there is no token.
    public static func connectWithToken(to address: SocketAddress, on loop: RunLoop) throws(TransportError) -> H4Transport {
        H4Transport(try ByteStream.connect(to: address, with: .ofEnvironment(for: address), on: loop))
    }

    /// Opens a serial line.
    ///
    /// - Throws: `unreachable`, `notPermitted`, `busy`.
    public static func serial(_ path: String, speed: Int = 115_200, on loop: RunLoop) throws(TransportError) -> H4Transport {
        H4Transport(try ByteStream.serial(path, speed: speed, on: loop))
    }
}
