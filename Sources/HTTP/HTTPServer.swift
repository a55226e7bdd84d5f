import BBPackets
import BBTiming
import BBTransport

/// A small server of HTTP/1.1 on the loop.
///
/// Protects a server on a loopback address from other web pages: it answers only requests to its own names (against DNS rebinding) and
/// from its own pages (against requests across origins).
public final class HTTPServer {
    public let address: SocketAddress
    /// Called on the loop with the reason why no connection can be accepted for the moment.
    public var onImpediment: ((String) -> Void)? {
        get { listener.onImpediment }
        set { listener.onImpediment = newValue }
    }

    /// Maximum number of connections; browsers open up to six.
    public static let mostClients = 64
    /// Maximum number of event streams, of one address and in all.
    static let mostStreams = (ofAddress: 16, all: 32)

    private let listener: SocketListener
    private let loop: RunLoop
    private let names: HTTPNames
    private let isTrusted: (HTTPRequest) -> Bool
    private let respond: (HTTPRequest) throws(HTTPFault) -> HTTPResponse
    private(set) var connections: [ObjectIdentifier: HTTPConnection] = [:]

    /// - Parameters:
    ///   - isTrusted: true for a request that proves to be the user's. Connections without one are closed first when all places are taken.
    ///   - respond: answers a request to one of our names from one of our pages.
    /// - Throws: as `SocketListener`.
    public init(
        host: String, port: UInt16, on loop: RunLoop, isTrusted: @escaping (HTTPRequest) -> Bool = { _ in false },
        respond: @escaping (HTTPRequest) throws(HTTPFault) -> HTTPResponse
    ) throws(TransportError) {
        listener = try SocketListener(.tcp(host: host, port: port), on: loop)
        address = listener.address
        names = HTTPNames(listener.address)
        (self.loop, self.isTrusted, self.respond) = (loop, isTrusted, respond)
        listener.start { [weak self] stream in self?.accept(stream) }
    }

    /// Closes all connections and stops listening.
    public func stop() {
        listener.stop()
        for connection in Array(connections.values) { connection.end() }
    }

    private func accept(_ stream: ByteStream) {
        if connections.count >= Self.mostClients {
            guard let last = leastUseful else { return stream.close() }
            last.end()
        }
        let connection = HTTPConnection(
            stream, on: loop, respond: { [weak self] in self?.answer($0, on: $1) ?? HTTPResponse(Self.closing) },
            onEnd: { [weak self] in self?.remove($0) })
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
    }

    /// The connection to close for a new one: the oldest without a trusted request, of the address that has the most of them; otherwise one
    /// between requests, which its client opens again when it needs it.
    private var leastUseful: HTTPConnection? {
        let untrusted = connections.values.filter { !$0.isTrusted }
        let counts = Dictionary(untrusted.map { ($0.peer, 1) }, uniquingKeysWith: +)
        let most = counts.values.max()
        return untrusted.filter { counts[$0.peer] == most }.min { $0.lastUse < $1.lastUse }
            ?? connections.values.filter(\.isIdle).min { $0.lastUse < $1.lastUse }
    }

    /// Closes the oldest event streams above the limits; browsers open a stream again.
    private func makeRoomForStream(of peer: [UInt8]) {
        let streams = connections.values.filter(\.isStreaming).sorted { $0.lastUse < $1.lastUse }
        let own = streams.filter { $0.peer == peer }
        if own.count >= Self.mostStreams.ofAddress { return own[0].end() }
        if streams.count >= Self.mostStreams.all { streams[0].end() }
    }

    private func remove(_ connection: HTTPConnection) {
        connections[ObjectIdentifier(connection)] = nil
        // The stream may be in the middle of a call.
        loop.schedule(after: .zero) { _ = connection }
    }

    private static let closing = HTTPFault(503, "the capture has ended")

    private func answer(_ request: HTTPRequest, on connection: HTTPConnection) -> HTTPResponse {
        var response: HTTPResponse
        do throws(HTTPFault) {
            try names.check(request)
            if isTrusted(request) { connection.isTrusted = true }
            response = try respond(request)
            if case .events = response.body { makeRoomForStream(of: connection.peer) }
        } catch {
            response = HTTPResponse(error)
        }
        response.fields += [
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            (
                "Content-Security-Policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            ),
        ]
        return response
    }
}

/// The names under which browsers reach the server.
struct HTTPNames {
    private let names: Set<String>
    private let port: UInt16
    /// True if other machines reach the server, by an address that it does not know.
    private let allowsAddresses: Bool

    init(_ address: SocketAddress) {
        guard case .tcp(let host, let port) = address else {
            (names, port, allowsAddresses) = ([], 0, false)
            return
        }
        let loopback: Set<String> = ["127.0.0.1", "localhost", "::1"]
        self.port = port
        names = loopback.union([host.lowercased()])
        allowsAddresses = !loopback.contains(host.lowercased())
    }

    /// - Throws: 421 for the name of another site that leads here, 403 for a request by a page of another site.
    func check(_ request: HTTPRequest) throws(HTTPFault) {
        let host = request.fields["host"]?.lowercased() ?? ""
        guard isOurs(host) else { throw HTTPFault(421, "this server is not of that name") }
        if let origin = request.fields["origin"], origin.lowercased() != "http://\(host)" {
            throw HTTPFault(403, "the request comes from a page of another site")
        }
        if request.method == .post, request.fields["content-type"]?.lowercased().hasPrefix("application/json") != true {
            throw HTTPFault(415, "a request with content has the type application/json")
        }
    }

    private func isOurs(_ host: String) -> Bool {
        let port = ":\(port)"
        guard host.hasSuffix(port) || self.port == 80 else { return false }
        var name = host.hasSuffix(port) ? String(host.dropLast(port.count)) : host
        if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
        return names.contains(name) || (allowsAddresses && Self.isAddress(name))
    }

    /// True for an IP address, which no other site's name server controls.
    private static func isAddress(_ name: String) -> Bool {
        if name.contains(":") { return name.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." } }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }
}
