import BBPackets
import BBTiming
import Testing

@testable import BBHTTP
@testable import BBTransport

/// A server and clients on one loop.
@Suite struct HTTPServerTests {
    private final class Client: ByteStream.Sink {
        let stream: ByteStream
        private(set) var text = ""
        private(set) var isEnded = false

        init(_ server: HTTPServer, on loop: RunLoop) throws {
            stream = try ByteStream.connect(to: server.address, on: loop)
            try stream.open(self)
        }

        deinit { stream.close() }

        func received(_ octets: UnsafeRawBufferPointer) { text += String(decoding: octets, as: UTF8.self) }
        func ended(_ reason: TransportError) { isEnded = true }
    }

    private func serve(
        _ answer: HTTPResponse = HTTPResponse(type: "text/plain", .octets(Array("hello".utf8))),
        _ body: @escaping (HTTPServer, RunLoop) async throws -> Void
    ) throws {
        let loop = RunLoop(mode: .wall)
        let server = try HTTPServer(host: "127.0.0.1", port: 0, on: loop) { _ in answer }
        try loop.run { try await body(server, loop) }
        server.stop()
    }

    private func host(_ server: HTTPServer) -> String { String("\(server.address)".dropFirst(4)) }

    private func wait(on loop: RunLoop, _ isTrue: () -> Bool) async throws {
        let end = loop.now + .seconds(300)
        while !isTrue(), loop.now < end { try await loop.sleep(for: .milliseconds(2)) }
        #expect(isTrue())
    }

    @Test func requestsAreAnsweredInOrder() throws {
        try serve { server, loop in
            let client = try Client(server, on: loop)
            let request = "GET / HTTP/1.1\r\nHost: \(host(server))\r\n"
            client.stream.send(Array("\(request)\r\n\(request)Connection: close\r\n\r\n".utf8))
            try await wait(on: loop) { client.isEnded }
            #expect(client.text.split(separator: "\r\n\r\nhello", omittingEmptySubsequences: false).count == 3)
            #expect(client.text.contains("Connection: close"))
        }
    }

    @Test(arguments: [
        ("GET", "rebound.example:%PORT", "", 421), ("GET", "127.0.0.1:1", "", 421), ("GET", "127.0.0.1", "", 421),
        ("GET", "10.0.0.1:%PORT", "", 421),
        ("GET", "localhost:%PORT", "", 200), ("GET", "[::1]:%PORT", "", 200), ("GET", "LOCALHOST:%PORT", "", 200),
        ("GET", "localhost:%PORT", "Origin: http://localhost:%PORT", 200), ("GET", "localhost:%PORT", "Origin: http://evil.example", 403),
        ("GET", "localhost:%PORT", "Origin: null", 403), ("GET", "localhost:%PORT", "Origin: https://localhost:%PORT", 403),
        ("POST", "localhost:%PORT", "Content-Type: text/plain", 415), ("POST", "localhost:%PORT", "X: 1", 415),
        ("POST", "localhost:%PORT", "Content-Type: application/json", 200),
    ])
    func onlyOurPagesAreAnswered(method: String, name: String, field: String, status: Int) throws {
        try serve { server, loop in
            let port = String(host(server).split(separator: ":").last ?? "")
            let client = try Client(server, on: loop)
            let text = "\(method) / HTTP/1.1\r\nHost: \(name)\r\n" + (field.isEmpty ? "" : field + "\r\n") + "\r\n"
            client.stream.send(Array(text.replacing("%PORT", with: port).utf8))
            try await wait(on: loop) { client.text.contains("\r\n\r\n") }
            #expect(client.text.hasPrefix("HTTP/1.1 \(status) "), "\(client.text)")
            #expect(client.text.contains("default-src 'none'"))
        }
    }

    @Test func aNewClientReplacesTheOneIdleLongest() throws {
        try serve { server, loop in
            var clients: [Client] = []
            for number in 0...HTTPServer.mostClients {
                clients.append(try Client(server, on: loop))
                try await wait(on: loop) { server.connections.count == min(number + 1, HTTPServer.mostClients) }
            }
            try await wait(on: loop) { clients[0].isEnded }
            let last = clients[clients.count - 1]
            last.stream.send(Array("GET / HTTP/1.1\r\nHost: \(host(server))\r\n\r\n".utf8))
            try await wait(on: loop) { last.text.hasSuffix("hello") }
            #expect(clients.count { $0.isEnded } == 1)
        }
    }

    @Test func piecesComeWhole() throws {
        var left = 50
        let pieces = HTTPResponse(
            type: "text/plain",
            .pieces {
                left -= 1
                return left < 0 ? nil : left == 20 ? [] : [UInt8](repeating: 0x61, count: 100_000)
            })
        try serve(pieces) { server, loop in
            let client = try Client(server, on: loop)
            client.stream.send(Array("GET / HTTP/1.1\r\nHost: \(host(server))\r\n\r\n".utf8))
            try await wait(on: loop) { client.text.hasSuffix("\r\n0\r\n\r\n") }
            #expect(client.text.count { $0 == "a" } >= 49 * 100_000)
        }
    }

    @Test func aClientThatDoesNotReadGetsNoMoreEvents() throws {
        let events = HTTPEventStream()
        try serve(HTTPResponse(type: "text/event-stream", .events(events))) { server, loop in
            let client = try Client(server, on: loop)
            client.stream.send(Array("GET / HTTP/1.1\r\nHost: \(host(server))\r\n\r\n".utf8))
            try await wait(on: loop) { client.text.contains("event-stream") }
            client.stream.rest()
            let event = [UInt8](repeating: 0x61, count: 100_000)
            var sent = 0
            while sent < 1_000, events.send(event) { sent += 1 }
            #expect((1..<1_000).contains(sent))
            #expect(!events.send(event))
        }
    }

    /// Serves pages to anybody, and event streams to those who know a word.
    private func serveTrusted(_ body: @escaping (HTTPServer, RunLoop) async throws -> Void) throws {
        let loop = RunLoop(mode: .wall)
        var streams: [HTTPEventStream] = []
        let server = try HTTPServer(
            host: "127.0.0.1", port: 0, on: loop, isTrusted: { $0.query["word"] == "known" },
            respond: { request in
                guard request.path == "/events" else { return HTTPResponse(type: "text/plain", .octets(Array("hello".utf8))) }
                streams.append(HTTPEventStream())
                return HTTPResponse(type: "text/event-stream", .events(streams[streams.count - 1]))
            })
        try loop.run { try await body(server, loop) }
        server.stop()
    }

    private func get(_ path: String, _ server: HTTPServer) -> [UInt8] {
        Array("GET \(path) HTTP/1.1\r\nHost: \(host(server))\r\n\r\n".utf8)
    }

    @Test(arguments: ["GET / HT", "GET / HTTP/1.1\r\nHost: a\r\nX: ", ""]) func halfRequestsKeepNobodyOut(_ half: String) throws {
        try serveTrusted { server, loop in
            let user = try Client(server, on: loop)
            user.stream.send(get("/?word=known", server))
            try await wait(on: loop) { user.text.hasSuffix("hello") }
            var strangers: [Client] = []
            for number in 0..<HTTPServer.mostClients {
                let stranger = try Client(server, on: loop)
                strangers.append(stranger)
                try await wait(on: loop) { server.connections.count == min(number + 2, HTTPServer.mostClients) }
                stranger.stream.send(Array(half.utf8))
            }
            try await wait(on: loop) { strangers.contains { $0.isEnded } }
            for number in 0..<5 {
                let other = try Client(server, on: loop)
                other.stream.send(get("/?word=known", server))
                try await wait(on: loop) { other.text.hasSuffix("hello") || other.isEnded }
                #expect(other.text.hasSuffix("hello"), "client \(number)")
                other.stream.close()
            }
            #expect(!user.isEnded, "the connection of the user stays although it was idle longest")
        }
    }

    @Test func streamsOfOneClientAreBounded() throws {
        try serveTrusted { server, loop in
            var clients: [Client] = []
            for _ in 0..<40 {
                let client = try Client(server, on: loop)
                clients.append(client)
                client.stream.send(get("/events?word=known", server))
                try await wait(on: loop) { client.text.contains("event-stream") }
            }
            #expect(server.connections.values.count { $0.isStreaming } == HTTPServer.mostStreams.ofAddress)
            try await wait(on: loop) { clients.count { $0.isEnded } == 40 - HTTPServer.mostStreams.ofAddress }
            #expect(clients[39].isEnded == false && clients[0].isEnded)
            let other = try Client(server, on: loop)
            other.stream.send(get("/", server))
            try await wait(on: loop) { other.text.hasSuffix("hello") }
        }
    }
}
