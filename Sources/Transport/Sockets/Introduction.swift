import BBPackets
import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Access token for a server: the client sends a line with the token, and the server answers with a line before H4 starts.
public struct AccessToken: Sendable, Equatable {
    /// Environment variable with the token.
    public static let variable = "BLUEBENCH_TOKEN"
    static let answer = Array("BLUEBENCH OK\n".utf8)

    private let octets: [UInt8]

    /// - Parameter text: 16...200 printable ASCII characters, surrounded by optional white space. Nil otherwise.
    public init?(_ text: String) {
        let isSpace = { (octet: UInt8) in octet == 0x20 || (0x09...0x0D).contains(octet) }
        octets = Array(text.utf8.drop(while: isSpace)).reversed().drop(while: isSpace).reversed()
        guard (16...200).contains(octets.count), octets.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
    }

    /// The token from the environment.
    ///
    /// - Throws: `unprepared` if there is none.
    static func ofEnvironment(for address: SocketAddress) throws(TransportError) -> AccessToken {
        guard let text = getenv(variable), let token = AccessToken(String(cString: text)) else {
            throw .unprepared("\(address) wants a token: put it into the variable \(variable), 16 to 200 visible characters")
        }
        return token
    }

    /// True for exactly this token. Compares in constant time for texts of the same length.
    public func accepts(_ text: String) -> Bool { fits(Self.line(Array(text.utf8))) }

    /// The line that a client sends.
    var line: [UInt8] { Self.line(octets) }

    private static func line(_ octets: [UInt8]) -> [UInt8] { Array("BLUEBENCH ".utf8) + octets + [0x0A] }

    /// Compares in constant time.
    func fits(_ line: [UInt8]) -> Bool {
        let own = self.line
        guard line.count == own.count else { return false }
        return zip(line, own).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// Waits for a client's token.
public final class TokenGate: ByteStream.Sink {
    private static let timeout = Microseconds.seconds(5)

    /// Address of the client, without the port.
    public let peer: [UInt8]
    private let token: AccessToken
    private let stream: ByteStream
    private let loop: RunLoop
    private var line: [UInt8] = []
    private var timer: Timer?
    private var then: ((Bool) -> Void)?

    public init(_ token: AccessToken, _ stream: ByteStream, on loop: RunLoop) {
        self.token = token
        self.stream = stream
        self.loop = loop
        peer = stream.peerHost
    }

    /// - Parameter then: called once with the result. Data after the client's line is not lost, because the client waits for the answer.
    public func start(then: @escaping (Bool) -> Void) throws(TransportError) {
        self.then = then
        try stream.open(self)
        timer = loop.schedule(after: Self.timeout) { [weak self] in self?.end(false) }
    }

    /// Rejects the client.
    public func close() {
        then = nil
        if let timer { loop.cancel(timer) }
        stream.close()
    }

    public func received(_ octets: UnsafeRawBufferPointer) {
        line += octets
        if line.last == 0x0A || line.count >= token.line.count { end(token.fits(line)) }
    }

    public func ended(_ reason: TransportError) { end(false) }

    private func end(_ mayPass: Bool) {
        guard let then else { return }
        self.then = nil
        if let timer { loop.cancel(timer) }
        stream.rest()
        if mayPass { stream.send(AccessToken.answer) }
        // The stream is still delivering data.
        loop.schedule(after: .zero) { then(mayPass) }
    }
}

extension ByteStream {
    /// Connects to a server that requires a token.
    ///
    /// - Throws: as `connect(to:on:timeout:)`; `notPermitted` if the server rejects the token.
    static func connect(to address: SocketAddress, with token: AccessToken, on loop: RunLoop, timeout: Int32 = 5_000)
        throws(TransportError)
        -> ByteStream
    {
        let stream = try connect(to: address, on: loop, timeout: timeout)
        stream.send(token.line)
        guard stream.takes(AccessToken.answer, within: timeout) else {
            stream.close()
            throw .notPermitted("\(address) does not take the token, or serves somebody else")
        }
        return stream
    }

    /// True if the next received octets are this answer.
    private func takes(_ answer: [UInt8], within timeout: Int32) -> Bool {
        var got: [UInt8] = []
        while got.count < answer.count {
            guard let octet = nextOctet(within: timeout) else { return false }
            got.append(octet)
        }
        return got == answer
    }
}
