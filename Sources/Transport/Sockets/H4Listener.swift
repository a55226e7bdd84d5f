import BBPackets
import BBTiming

/// A listening socket for the H4 host of another program.
public final class H4Listener {
    /// Listening address, with the actual port if port 0 was given.
    public let address: SocketAddress
    private let loop: RunLoop
    private let listener: SocketListener
    private let arrival: Promise<Void>

    /// Listens until it is released, and then removes a Unix socket.
    ///
    /// - Parameter attach: connects a host's pipe to its controller; the pipe is closed if it throws.
    /// - Throws: as `SocketListener`.
    public init(_ address: SocketAddress, on loop: RunLoop, attach: @escaping (any HCITransport) throws -> Void) throws(TransportError) {
        listener = try SocketListener(address, on: loop)
        self.loop = loop
        self.address = listener.address
        let arrival = Promise<Void>(on: loop)
        self.arrival = arrival
        listener.start { stream in
            do {
                try attach(H4Transport(stream))
                arrival.fulfil(())
            } catch {
                stream.close()
            }
        }
    }

    deinit { listener.stop() }

    /// Stops listening because the program is to end, and ends waits for a host.
    public func stop() {
        listener.stop()
        arrival.fail(CancellationError())
    }

    /// Waits until a host has connected.
    ///
    /// - Parameter role: role of the host, for the timeout message.
    public func waitForHost(as role: String, within timeOut: Microseconds) async throws {
        do {
            try await arrival.value(until: loop.now + timeOut)
        } catch is TimeOut {
            let seconds = timeOut.seconds
            let time = seconds == seconds.rounded() ? "\(Int(saturating: seconds))" : "\(seconds)"
            throw TransportError.unreachable("\(role): no host connected to \(address) within \(time) s")
        }
    }
}
