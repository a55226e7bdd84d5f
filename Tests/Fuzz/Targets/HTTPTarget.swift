import BBHTTP

extension FuzzTarget {
    /// Octets of a client: every request is whole, reading ends, and the pieces in which octets arrive do not matter.
    static let requests = FuzzTarget(
        name: "requests", layer: nil,
        seeds: {
            [
                Array("GET /api/packets?where=Status+%21%3D+Success&first=3 HTTP/1.1\r\nHost: a:80\r\nOrigin: http://a\r\n\r\n".utf8),
                Array("POST /api/note HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".utf8),
                Array("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8),
            ]
        },
        run: { input in
            let whole = requests(of: input, inPiecesOf: max(1, input.count))
            let single = requests(of: input, inPiecesOf: 1)
            try promise(whole.map(\.path) == single.map(\.path) && whole.map(\.body) == single.map(\.body), "the pieces matter")
            try promise(whole.reduce(0) { $0 + $1.body.count + 16 } <= input.count, "more requests than octets")
        })

    private static func requests(of input: [UInt8], inPiecesOf size: Int) -> [HTTPRequest] {
        var parser = HTTPRequestParser()
        var requests: [HTTPRequest] = []
        do throws(HTTPFault) {
            for start in stride(from: 0, to: input.count, by: size) {
                try receive(Array(input[start..<min(input.count, start + size)]), &parser)
                while let request = try parser.next() { requests.append(request) }
            }
        } catch {
            return requests
        }
        return requests
    }

    private static func receive(_ octets: [UInt8], _ parser: inout HTTPRequestParser) throws(HTTPFault) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: octets.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: octets)
        try parser.receive(UnsafeRawBufferPointer(copy))
    }
}
