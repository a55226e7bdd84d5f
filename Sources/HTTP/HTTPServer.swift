import Packets
import Timing
import Transport

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

    /// Maximum number of clients; browsers open up to six connections.
    public static let mostClients = 64

    private let listener: SocketListener
    private let loop: RunLoop
    private let names: HTTPNames
    private let respond: (HTTPRequest) throws(HTTPFault) -> HTTPResponse
    private(set) var connections: [ObjectIdentifier: HTTPConnection] = [:]

    /// - Parameter respond: answers a request to one of our names from one of our pages.
    /// - Throws: as `SocketListener`.
    public init(
        host: String, port: UInt16, on loop: RunLoop, respond: @escaping (HTTPRequest) throws(HTTPFault) -> HTTPResponse
    ) throws(TransportError) {
        listener = try SocketListener(.tcp(host: host, port: port), on: loop)
        address = listener.address
        names = HTTPNames(listener.address)
        (self.loop, self.respond) = (loop, respond)
        listener.start { [weak self] stream in self?.accept(stream) }
    }

    /// Closes all connections and stops listening.
    public func stop() {
        listener.stop()
        for connection in Array(connections.values) { connection.end() }
    }

    private func accept(_ stream: ByteStream) {
        if connections.count >= Self.mostClients {
            // A connection between requests is opened again by its client when it needs it.
            guard let oldest = connections.values.filter(\.isIdle).min(by: { $0.lastUse < $1.lastUse }) else { return stream.close() }
            oldest.end()
        }
        let connection = HTTPConnection(
            stream, on: loop, respond: { [weak self] in self?.answer($0) ?? HTTPResponse(Self.closing) },
            onEnd: { [weak self] in self?.remove($0) })
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
    }

    private func remove(_ connection: HTTPConnection) {
        connections[ObjectIdentifier(connection)] = nil
        // The stream may be in the middle of a call.
        loop.schedule(after: .zero) { _ = connection }
    }

    private static let closing = HTTPFault(503, "the capture has ended")

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        var response: HTTPResponse
        do throws(HTTPFault) {
            try names.check(request)
            response = try respond(request)
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
