import BBPackets
import BBTiming
import BBTransport

/// One client: reads its requests in order, and answers each before the next.
final class HTTPConnection: ByteStream.Sink {
    /// Time for a whole request, and for a client to read some of a response.
    static let timeout = Microseconds.seconds(10)
    /// The same time for a connection without a trusted request.
    static let untrustedTimeout = Microseconds.seconds(3)
    /// Time without a request on an open connection.
    static let idleTime = Microseconds.seconds(60)
    /// Interval of comments on an event stream, which show that a client is still there.
    static let heartbeat = Microseconds.seconds(15)

    private enum State {
        case awaitRequest
        case sendPieces(() -> [UInt8]?, isLast: Bool)
        case sendEvents(HTTPEventStream)
        case ended
    }

    /// True between requests.
    var isIdle: Bool { if case .awaitRequest = state { parser.isIdle && stream.queuedOctets == 0 } else { false } }
    var isStreaming: Bool { if case .sendEvents = state { true } else { false } }
    private(set) var lastUse: Microseconds
    /// True after a request that proved to be the user's.
    var isTrusted = false
    /// Address of the client, without the port.
    let peer: [UInt8]

    private let stream: ByteStream
    private let loop: RunLoop
    private let respond: (HTTPRequest, HTTPConnection) -> HTTPResponse
    private let onEnd: (HTTPConnection) -> Void
    private var parser = HTTPRequestParser()
    private var state = State.awaitRequest
    private var timer: Timer?
    private var isLast = false

    init(
        _ stream: ByteStream, on loop: RunLoop, respond: @escaping (HTTPRequest, HTTPConnection) -> HTTPResponse,
        onEnd: @escaping (HTTPConnection) -> Void
    ) {
        (self.stream, self.loop, self.respond, self.onEnd) = (stream, loop, respond, onEnd)
        (lastUse, peer) = (loop.now, stream.peerHost)
        stream.onDrained = { [weak self] in self?.drained() }
    }

    func start() {
        do throws(TransportError) { try stream.open(self) } catch { return end() }
        wait(requestTime)
    }

    /// Time for a whole request.
    private var requestTime: Microseconds { isTrusted ? Self.timeout : Self.untrustedTimeout }

    func end() {
        if case .ended = state { return }
        if case .sendEvents(let events) = state { events.onEnd?() }
        state = .ended
        if let timer { loop.cancel(timer) }
        stream.onDrained = nil
        stream.close()
        onEnd(self)
    }

    // MARK: Requests

    func received(_ octets: UnsafeRawBufferPointer) {
        let wasIdle = parser.isIdle
        do throws(HTTPFault) { try parser.receive(octets) } catch {
            guard case .awaitRequest = state else { return endSoon() }
            return refuse(error)
        }
        guard case .awaitRequest = state else { return }
        serve()
        // The time for a request starts with its first octet.
        if wasIdle, !parser.isIdle, case .awaitRequest = state { wait(requestTime) }
    }

    func ended(_ reason: TransportError) { end() }

    private func serve() {
        while case .awaitRequest = state, stream.queuedOctets == 0 {
            do throws(HTTPFault) {
                guard let request = try parser.next() else { return }
                isLast = request.isLast
                send(respond(request, self), isHead: request.method == .head)
            } catch {
                return refuse(error)
            }
        }
    }

    /// Answers a request that cannot be read, and closes.
    private func refuse(_ fault: HTTPFault) {
        isLast = true
        send(HTTPResponse(fault), isHead: false)
    }

    private func send(_ response: HTTPResponse, isHead: Bool) {
        lastUse = loop.now
        var head = "HTTP/1.1 \(response.status) \(HTTPResponse.reason(response.status))\r\nContent-Type: \(response.type)\r\n"
        for (name, value) in response.fields { head += "\(name): \(value)\r\n" }
        if isLast { head += "Connection: close\r\n" }
        switch response.body {
        case .octets(let octets):
            stream.send(Array((head + "Content-Length: \(octets.count)\r\n\r\n").utf8) + (isHead ? [] : octets))
            sent()
        case .pieces(let next):
            stream.send(Array((head + "Transfer-Encoding: chunked\r\n\r\n").utf8))
            if isHead { return sent() }
            state = .sendPieces(next, isLast: isLast)
            continuePieces()
        case .events(let events):
            stream.send(Array((head + "X-Accel-Buffering: no\r\n\r\n").utf8))
            state = .sendEvents(events)
            events.connection = self
            wait(Self.heartbeat)
        }
    }

    private func sent() {
        state = .awaitRequest
        if isLast, stream.queuedOctets == 0 { return endSoon() }
        wait(stream.queuedOctets > 0 ? Self.timeout : Self.idleTime)
    }

    /// The sink must not be released within a call of the stream.
    private func endSoon() { loop.schedule(after: .zero) { [weak self] in self?.end() } }

    // MARK: Sending

    /// Sends one piece, and the next one when the loop has served others.
    private func continuePieces() {
        guard case .sendPieces(let next, _) = state, stream.queuedOctets == 0 else { return }
        wait(Self.timeout)
        guard let piece = next() else {
            stream.send(Array("0\r\n\r\n".utf8))
            sent()
            return
        }
        if !piece.isEmpty { stream.send(Array((String(piece.count, radix: 16) + "\r\n").utf8) + piece + [0x0D, 0x0A]) }
        if stream.queuedOctets == 0 { loop.schedule(after: .zero) { [weak self] in self?.continuePieces() } }
    }

    private func drained() {
        switch state {
        case .sendPieces: loop.schedule(after: .zero) { [weak self] in self?.continuePieces() }
        case .awaitRequest where isLast: endSoon()
        case .awaitRequest:
            wait(Self.idleTime)
            loop.schedule(after: .zero) { [weak self] in self?.serve() }
        case .sendEvents, .ended: break
        }
    }

    func sendEvent(_ octets: [UInt8]) -> Bool {
        guard case .sendEvents = state, stream.isOpen, stream.queuedOctets == 0 else { return false }
        stream.send(octets)
        return true
    }

    // MARK: Time

    private func wait(_ time: Microseconds) {
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(after: time) { [weak self] in self?.timeIsOver() }
    }

    private func timeIsOver() {
        timer = nil
        switch state {
        case .awaitRequest where parser.isIdle || stream.queuedOctets > 0: end()
        case .awaitRequest: refuse(HTTPFault(408, "a request takes at most \(Int(saturating: requestTime.seconds)) s"))
        case .sendPieces: end()
        case .sendEvents:
            // A client that has read nothing for the whole interval is gone or too slow.
            guard sendEvent(Array(":\n\n".utf8)) else { return end() }
            wait(Self.heartbeat)
        case .ended: break
        }
    }
}
