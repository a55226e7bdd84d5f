/// Reads the requests of one connection. Sans I/O, with bounded memory.
///
/// Narrower than RFC 9112 where clients do not need it: no transfer codings, no folded fields, no absolute targets, HTTP/1.1 only.
public struct HTTPRequestParser {
    /// Limits of a request.
    public struct Limits: Sendable {
        public var head = 16_384
        public var fields = 64
        public var parameters = 32
        public var body = 65_536

        public init() {}
    }

    private enum State {
        case awaitHead
        case awaitBody(HTTPRequest, length: Int)
        case refused
    }

    private let limits: Limits
    private var state = State.awaitHead
    private var buffer: [UInt8] = []
    /// Octets of the buffer without the end of a head.
    private var searched = 0

    public init(_ limits: Limits = Limits()) { self.limits = limits }

    /// True if no part of a request has arrived.
    public var isIdle: Bool { if case .awaitHead = state { buffer.isEmpty } else { false } }

    /// - Throws: 431 if more arrives than a client may send ahead of a response.
    public mutating func receive(_ octets: UnsafeRawBufferPointer) throws(HTTPFault) {
        if case .refused = state { return }
        guard buffer.count + octets.count <= 2 * (limits.head + limits.body) else { throw refuse(431, "too much was sent at once") }
        buffer.append(contentsOf: octets)
    }

    /// The next whole request; nil if more octets are needed.
    ///
    /// - Throws: the response for a request that cannot be answered; nothing is read afterwards.
    public mutating func next() throws(HTTPFault) -> HTTPRequest? {
        switch state {
        case .refused: return nil
        case .awaitBody(let request, let length): return takeBody(request, length)
        case .awaitHead:
            guard let head = try takeHead() else { return nil }
            do {
                let request = try read(head)
                return takeBody(request, try length(of: request))
            } catch {
                throw refuse(error.status, error.text)
            }
        }
    }

    private mutating func refuse(_ status: Int, _ text: String) -> HTTPFault {
        state = .refused
        buffer = []
        return HTTPFault(status, text)
    }

    private mutating func takeBody(_ request: HTTPRequest, _ length: Int) -> HTTPRequest? {
        guard buffer.count >= length else {
            state = .awaitBody(request, length: length)
            return nil
        }
        var request = request
        request.body = Array(buffer.prefix(length))
        buffer.removeFirst(length)
        (state, searched) = (.awaitHead, 0)
        return request
    }

    // MARK: Head

    private static let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]

    private mutating func takeHead() throws(HTTPFault) -> ArraySlice<UInt8>? {
        while searched + 4 <= buffer.count, searched <= limits.head {
            if buffer[searched] == 0x0D, buffer[searched..<(searched + 4)].elementsEqual(Self.end) {
                let head = buffer[..<searched]
                buffer.removeFirst(searched + 4)
                searched = 0
                return head
            }
            searched += 1
        }
        if searched > limits.head { throw refuse(431, "a request has at most \(limits.head) octets of header") }
        return nil
    }

    private func read(_ head: ArraySlice<UInt8>) throws(HTTPFault) -> HTTPRequest {
        var lines: [ArraySlice<UInt8>] = []
        var rest = head
        while let end = rest.firstIndex(of: 0x0D) {
            guard end + 1 < rest.endIndex, rest[end + 1] == 0x0A else { throw HTTPFault(400, "a line ends with CR without LF") }
            lines.append(rest[..<end])
            rest = rest[(end + 2)...]
            guard lines.count <= limits.fields else { throw HTTPFault(431, "a request has at most \(limits.fields) header fields") }
        }
        lines.append(rest)
        guard let first = lines.first, !head.contains(where: { $0 < 0x20 && $0 != 0x0D && $0 != 0x0A && $0 != 0x09 || $0 == 0x7F }),
            lines.allSatisfy({ !$0.contains(0x0A) })
        else { throw HTTPFault(400, "the header has a control character") }
        var request = try readRequestLine(first)
        var hosts = 0
        for line in lines.dropFirst() {
            let (name, value) = try readField(line)
            if name == "host" { hosts += 1 }
            if name == "content-length", request.fields[name] != nil { throw HTTPFault(400, "two lengths") }
            request.fields[name] = request.fields[name].map { "\($0), \(value)" } ?? value
        }
        guard hosts == 1 else { throw HTTPFault(400, "a request has one Host field") }
        return request
    }

    private func readRequestLine(_ line: ArraySlice<UInt8>) throws(HTTPFault) -> HTTPRequest {
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].first == 0x2F, parts[1].allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw HTTPFault(400, "no request line")
        }
        guard parts[2].elementsEqual("HTTP/1.1".utf8) else { throw HTTPFault(505, "only HTTP/1.1 is spoken") }
        guard let method = HTTPRequest.Method(rawValue: String(decoding: parts[0], as: UTF8.self)) else {
            throw HTTPFault(405, "the methods are GET, HEAD and POST")
        }
        let target = parts[1].split(separator: 0x3F, maxSplits: 1, omittingEmptySubsequences: false)
        var request = HTTPRequest(method, String(decoding: target[0], as: UTF8.self))
        guard target.count > 1 else { return request }
        let pairs = target[1].split(separator: 0x26)
        guard pairs.count <= limits.parameters else { throw HTTPFault(400, "a query has at most \(limits.parameters) parameters") }
        for pair in pairs {
            let sides = pair.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
            request.query[try Self.decoded(sides[0])] = try sides.count > 1 ? Self.decoded(sides[1]) : ""
        }
        return request
    }

    /// Resolves percent encoding; `+` is a space.
    private static func decoded(_ octets: ArraySlice<UInt8>) throws(HTTPFault) -> String {
        var text: [UInt8] = []
        var rest = octets
        while let octet = rest.popFirst() {
            guard octet == 0x25 else {
                text.append(octet == 0x2B ? 0x20 : octet)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard rest.count >= 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else {
                throw HTTPFault(400, "a percent sign without two digits")
            }
            text.append(value)
            rest = rest.dropFirst(2)
        }
        return String(decoding: text, as: UTF8.self)
    }

    private func readField(_ line: ArraySlice<UInt8>) throws(HTTPFault) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex, line[..<colon].allSatisfy(Self.isTokenOctet) else {
            throw HTTPFault(400, "a header field without a name")
        }
        let value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
        let kept = value.prefix(upTo: (value.lastIndex { $0 != 0x20 && $0 != 0x09 }).map { $0 + 1 } ?? value.startIndex)
        return (String(decoding: line[..<colon], as: UTF8.self).lowercased(), String(decoding: kept, as: UTF8.self))
    }

    private static func isTokenOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(octet)
        }
    }

    private func length(of request: HTTPRequest) throws(HTTPFault) -> Int {
        guard request.fields["transfer-encoding"] == nil else { throw HTTPFault(501, "no transfer coding is known") }
        guard let text = request.fields["content-length"] else { return 0 }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), !text.isEmpty else { throw HTTPFault(400, "no length") }
        guard let length = Int(text), length <= limits.body else { throw HTTPFault(413, "a body has at most \(limits.body) octets") }
        return length
    }
}
