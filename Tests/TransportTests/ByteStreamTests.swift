import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite struct ByteStreamTests {
    /// Records received data, piece by piece.
    private final class Gathered: ByteStream.Sink {
        let name: String
        let log: Log
        var octets: [UInt8] = []
        var reason: TransportError?
        var onPiece: (() -> Void)?

        init(_ name: String, _ log: Log) { (self.name, self.log) = (name, log) }

        func received(_ octets: UnsafeRawBufferPointer) {
            self.octets.append(contentsOf: octets)
            log.pieces.append(name)
            onPiece?()
            log.changed.signal()
        }

        func ended(_ reason: TransportError) {
            self.reason = reason
            log.changed.signal()
        }
    }

    /// Records the receivers of pieces, in order.
    private final class Log {
        var pieces: [String] = []
        let changed: ConditionVariable

        init(on loop: RunLoop) { changed = ConditionVariable(on: loop) }
    }

    /// Octets that depend on their position.
    private static func octets(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 % 251) } }

    /// Both ends of a socket as streams.
    private static func pair(_ name: String, on loop: RunLoop) throws -> (near: ByteStream, far: ByteStream) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, streamSocket, 0, &ends) == 0)
        return (ByteStream(name: name, descriptor: ends[0], on: loop), ByteStream(name: "\(name)'s far end", descriptor: ends[1], on: loop))
    }

    private static func run(_ body: @escaping (RunLoop, Log) async throws -> Void) throws {
        let loop = RunLoop(mode: .wall)
        try loop.run { try await body(loop, Log(on: loop)) }
    }

    /// One octet, one read, slightly more than one, as much as is read in a turn, and more than the system buffers.
    @Test(arguments: [1, 1 << 15, 1 << 15 + 1, 1 << 17, 600_000], [true, false])
    func whatWasSentComesBeforeTheEnd(count: Int, isOpenedFirst: Bool) throws {
        try Self.run { loop, log in
            let (near, far) = try Self.pair("a", on: loop)
            let (sink, quiet) = (Gathered("a", log), Gathered("far", log))
            if isOpenedFirst { try near.open(sink) }
            try far.open(quiet)
            far.send(Self.octets(count))
            if !isOpenedFirst { try near.open(sink) }
            try await log.changed.wait(for: "\(count) octets") { sink.octets.count == count }
            #expect(sink.octets == Self.octets(count))
            far.send([0x55])
            far.close()
            try await log.changed.wait(for: "the end") { sink.reason != nil }
            #expect(sink.octets.count == count + 1 && sink.octets.last == 0x55)
            #expect(sink.reason == .lost("a"))
            #expect(quiet.octets.isEmpty && quiet.reason == nil)
        }
    }

    @Test func whatWaitsWhileAStreamRestsComesToTheNextSink() throws {
        try Self.run { loop, log in
            let (near, far) = try Self.pair("a", on: loop)
            let (first, second, quiet) = (Gathered("first", log), Gathered("second", log), Gathered("far", log))
            first.onPiece = { near.rest() }
            try far.open(quiet)
            far.send(Self.octets(100_000))
            try near.open(first)
            try await log.changed.wait(for: "the first piece") { !first.octets.isEmpty }
            #expect(first.octets.count < 100_000)
            try near.open(second)
            try await log.changed.wait(for: "the rest") { first.octets.count + second.octets.count == 100_000 }
            #expect(first.octets + second.octets == Self.octets(100_000))
            #expect(log.pieces.filter { $0 == "first" }.count == 1)
            near.close()
            far.close()
            #expect(quiet.reason == nil)
        }
    }

    @Test func aStreamWithMuchToReadLeavesOthersTheirTurn() throws {
        try Self.run { loop, log in
            let pairs = try ["a", "b"].map { try Self.pair($0, on: loop) }
            let sinks = [Gathered("a", log), Gathered("b", log)]
            let quiet = Gathered("far", log)
            for (_, far) in pairs { far.send(Self.octets(500_000)) }
            for (pair, sink) in zip(pairs, sinks) { try pair.near.open(sink) }
            for pair in pairs { try pair.far.open(quiet) }
            try await log.changed.wait(for: "all of both") { sinks.allSatisfy { $0.octets.count == 500_000 } }
            for sink in sinks { #expect(sink.octets == Self.octets(500_000)) }
            let first = log.pieces.prefix { $0 == log.pieces.first }
            #expect(first.count <= 4, "reads before the other's first turn")
            for (near, far) in pairs {
                near.close()
                far.close()
            }
            #expect(quiet.reason == nil)
        }
    }
}
