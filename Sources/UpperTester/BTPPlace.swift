import BBPackets
import BBTiming
import BBTransport

/// The place of the other end of the Bluetooth Test Protocol, as an option names it.
public enum BTPPlace: Sendable, Hashable {
    /// `unix:PATH`, `tcp:HOST:PORT`: the other end listens.
    case connect(SocketAddress)
    /// `unix-listen:PATH`, `tcp-listen:PORT`, `tcp-listen:HOST:PORT`: the other end connects.
    case listen(SocketAddress)
    /// `serial:PATH`, with 115200 baud.
    case serial(String)

    /// A text that names no place.
    public struct Mistake: Error, CustomStringConvertible {
        let text: String
        public var description: String {
            "'\(text)' is not the place of a BTP connection: use unix:PATH, tcp:HOST:PORT, serial:PATH, unix-listen:PATH or tcp-listen:[HOST:]PORT"
        }
    }

    public init(_ text: String) throws(Mistake) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        let rest = String(text.drop { $0 != ":" }.dropFirst())
        let port = parts.last.flatMap { UInt16($0) }
        switch (parts[0], port) {
        case ("unix", _) where !rest.isEmpty: self = .connect(.unix(path: rest))
        case ("unix-listen", _) where !rest.isEmpty: self = .listen(.unix(path: rest))
        case ("serial", _) where !rest.isEmpty: self = .serial(rest)
        case ("tcp", let port?) where parts.count == 3: self = .connect(.tcp(host: parts[1], port: port))
        case ("tcp-listen", let port?) where parts.count == 2: self = .listen(.tcp(host: "127.0.0.1", port: port))
        case ("tcp-listen", let port?) where parts.count == 3: self = .listen(.tcp(host: parts[1], port: port))
        default: throw Mistake(text: text)
        }
    }

    /// Opens the pipe; waits for the other end to connect, if it is to.
    ///
    /// - Parameter waits: called with the listening address.
    public func pipe(on loop: RunLoop, waits: (SocketAddress) -> Void) async throws -> any BTPPipe {
        switch self {
        case .connect(let address): return BTPSocket(try ByteStream.connect(to: address, on: loop))
        case .serial(let path): return BTPSocket(try ByteStream.serial(path, on: loop))
        case .listen(let address):
            let listener = try SocketListener(address, on: loop)
            defer { listener.stop() }
            let arrival = Promise<ByteStream>(on: loop)
            listener.start { stream in if !arrival.isSettled { arrival.fulfil(stream) } else { stream.close() } }
            waits(listener.address)
            return BTPSocket(try await arrival.value())
        }
    }
}
