import Packets
import Timing

/// A socket on which the host of another program is waited for. It speaks H4.
public final class H4Listener {
    /// Where it listens; a port that was given as 0 is the chosen one here.
    public let address: SocketAddress
    private let loop: RunLoop
    private let listener: SocketListener
    private let arrival: Promise<Void>

    /// Listens for as long as it lives itself; then a Unix socket is removed.
    ///
    /// - Parameter attach: gives a host's pipe its controller; a pipe that it refuses is closed.
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

    /// Listens no more, as somebody wants the program to end; whoever waits for a host is told.
    public func stop() {
        listener.stop()
        arrival.fail(CancellationError())
    }

    /// Waits until a host has connected.
    ///
    /// - Parameter role: what the host is to be, for the message when none comes.
    public func waitForHost(as role: String, within timeOut: Microseconds) async throws {
        do {
            try await arrival.value(until: loop.now + timeOut)
        } catch is TimeOut {
            let seconds = timeOut.seconds
            let time = seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
            throw TransportError.unreachable("\(role): no host connected to \(address) within \(time) s")
        }
    }
}
