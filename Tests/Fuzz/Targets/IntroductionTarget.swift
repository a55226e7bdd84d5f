import BBPackets
import BBTiming
import Foundation

@testable import BBTransport

extension FuzzTarget {
    /// The first line of a client at a server with a token: exactly the right line passes, in any pieces.
    static let introductions = FuzzTarget(
        name: "introductions", layer: { _ in nil },
        seeds: {
            let line = Array("BLUEBENCH \(word)\n".utf8)
            let pieces = [
                [line], [Array(line.prefix(7)), Array(line.dropFirst(7))], [Array(line.dropLast()), [0x0A]], [line + [1, 3, 0x0C, 0]],
            ]
            return pieces.map { list in Frames(list.map { Frames.Frame(action: .init(end: 0), packet: $0) }).octets() }
        },
        run: { input in
            let pieces = Frames(input).list.map(\.packet)
            guard let token = AccessToken(word) else { throw BrokenPromise("no token") }
            let text = String(decoding: pieces.joined(), as: UTF8.self)
            try promise(!token.accepts(text) || text.contains(word), "'\(text)' is accepted")
            let passes = try GateTrial(token).run(pieces)
            // A line is complete at its length, or at a line feed that ends a piece.
            var line: [UInt8] = []
            for piece in pieces where !piece.isEmpty {
                line += piece
                if line.last == 0x0A || line.count >= token.line.count { break }
            }
            try promise(passes == (line == token.line), "\(Hex.octets(line)) \(passes ? "passes" : "does not pass")")
        })

    private static let word = "0123456789abcdefghij"
}

/// A gate at one end of a pair of sockets.
private final class GateTrial {
    private let loop = BBTiming.RunLoop(mode: .virtual, watchesDescriptors: true)
    private let gate: TokenGate
    private let stream: ByteStream
    private let other: Int32

    init(_ token: AccessToken) throws {
        var ends: [Int32] = [-1, -1]
        try promise(socketpair(AF_UNIX, streamSocket, 0, &ends) == 0, "no sockets")
        stream = ByteStream(name: "client", descriptor: ends[0], on: loop)
        other = ends[1]
        gate = TokenGate(token, stream, on: loop)
    }

    deinit { close(other) }

    /// Returns true if the client may pass; a client that leaves early may not.
    func run(_ pieces: [[UInt8]]) throws -> Bool {
        var result: Bool?
        try gate.start { result = $0 }
        for piece in pieces where result == nil && !piece.isEmpty { piece.withUnsafeBytes { gate.received($0) } }
        gate.ended(.lost("client"))
        try loop.run { [loop] in try await loop.sleep(for: .milliseconds(1)) }
        gate.close()
        loop.end()
        return result ?? false
    }
}
