import BBHTTP
import Testing

@Suite struct HTTPRequestTests {
    /// Feeds octets in pieces and returns the requests, and the fault that ended reading.
    private func read(_ text: String, pieces: Int = .max, _ limits: HTTPRequestParser.Limits = .init()) -> ([HTTPRequest], HTTPFault?) {
        var parser = HTTPRequestParser(limits)
        var requests: [HTTPRequest] = []
        var rest = Array(text.utf8)[...]
        do throws(HTTPFault) {
            while !rest.isEmpty {
                let piece = Array(rest.prefix(pieces))
                rest = rest.dropFirst(pieces)
                try feed(piece, to: &parser)
                while let request = try parser.next() { requests.append(request) }
            }
        } catch {
            return (requests, error)
        }
        return (requests, nil)
    }

    private func feed(_ octets: [UInt8], to parser: inout HTTPRequestParser) throws(HTTPFault) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: octets.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: octets)
        try parser.receive(UnsafeRawBufferPointer(copy))
    }

    @Test(arguments: [1, 3, .max]) func requestsArriveInAnyPieces(pieces: Int) {
        let text =
            "GET /a?x=1+2&y=%C3%A4&x=%26 HTTP/1.1\r\nHost: a:1\r\nX:  two \r\nx: three\r\n\r\n"
            + "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n"
        let (requests, fault) = read(text, pieces: pieces)
        #expect(fault == nil)
        var first = HTTPRequest(.get, "/a")
        first.query = ["x": "&", "y": "ä"]
        first.fields = ["host": "a:1", "x": "two, three"]
        var second = HTTPRequest(.post, "/b")
        second.fields = ["host": "a", "content-length": "4"]
        second.body = Array("\r\n\r\n".utf8)
        var third = HTTPRequest(.head, "/")
        third.fields = ["host": "a", "connection": "Close"]
        #expect(requests == [first, second, third])
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400), ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", 505),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("PUT / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\rX: 1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 400), ("GET /\u{1B}[2J HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /?a=%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /?a=%+4 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400), ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        ("GET /" + String(repeating: "a", count: 20_000), 431),
        ("GET / HTTP/1.1\r\n" + String(repeating: "a: b\r\n", count: 70) + "\r\n", 431),
        ("GET /?" + String(repeating: "a&", count: 40) + " HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ])
    func badRequestsAreRefused(text: String, status: Int) {
        for pieces in [1, .max] {
            let (requests, fault) = read(text, pieces: pieces)
            #expect(requests.isEmpty)
            #expect(fault?.status == status, "\(fault?.text ?? "no fault")")
        }
    }

    @Test func nothingIsReadAfterARefusal() {
        var parser = HTTPRequestParser()
        #expect(throws: HTTPFault.self) {
            try feed(Array("GET / HTTP/2\r\nHost: a\r\n\r\n".utf8), to: &parser)
            _ = try parser.next()
        }
        #expect(throws: Never.self) {
            try feed(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), to: &parser)
            #expect(try parser.next() == nil)
        }
    }

    @Test func whatIsSentAheadIsBounded() {
        var parser = HTTPRequestParser()
        #expect(throws: HTTPFault.self) { for _ in 0..<100 { try feed([UInt8](repeating: 0x61, count: 10_000), to: &parser) } }
    }
}
