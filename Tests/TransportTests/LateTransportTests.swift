import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBTransport

/// A pipe that is read late hands on every packet once and in order, and the turns that it hands them on in are those that were asked for.
@Suite struct LateTransportTests {
    private final class Reader: HCITransportSink {
        /// Packets by turns: each begins after tasks have run.
        var turns: [[Int]] = [[]]
        var times: [Microseconds] = []
        var isClosed = false
        let loop: RunLoop
        private var isMarking = false

        init(_ loop: RunLoop) { self.loop = loop }

        func received(_ packet: HCIPacket, at time: Microseconds) {
            turns[turns.count - 1].append(Int(packet.bytes[4]))
            times.append(time)
            guard !isMarking else { return }
            isMarking = true
            _ = loop.start { [self] in
                turns.append([])
                isMarking = false
            }
        }

        func closed(_ reason: TransportError) { isClosed = true }
    }

    private static func packet(_ number: Int) -> HCIPacket { HCIPacket(acl: 1, .firstNonFlushable, [UInt8(number)]) }

    /// Plays packets, one each 10 ms, and returns the turns in which they came.
    private static func play(_ reading: LateReading, seed: UInt64 = 1, count: Int = 10) throws -> Reader {
        let loop = RunLoop()
        let (host, controller) = InProcessTransport.pair(on: loop)
        let late = LateTransport(host, reading, seed: seed, on: loop)
        let reader = Reader(loop)
        try late.open(reader)
        try loop.run {
            for number in 0..<count {
                controller.send(packet(number))
                try await loop.sleep(for: .milliseconds(10))
            }
            controller.close()
            try await loop.sleep(for: .seconds(2))
        }
        reader.turns.removeAll(where: \.isEmpty)
        #expect(reader.isClosed && reader.turns.flatMap(\.self) == Array(0..<count))
        return reader
    }

    static let rows: [(reading: LateReading, turns: [Int])] = [
        (LateReading(0...0), [Int](repeating: 1, count: 10)), (LateReading(5...5), [Int](repeating: 1, count: 10)),
        (LateReading(25...25), [3, 3, 3, 1]), (LateReading(45...45), [5, 5]), (LateReading(1_000...1_000), [10]),
        (LateReading(25...25, isJoined: false), [Int](repeating: 1, count: 10)),
    ]

    @Test(arguments: rows) func packetsComeTogether(reading: LateReading, turns: [Int]) throws {
        let reader = try Self.play(reading)
        #expect(reader.turns.map(\.count) == turns)
    }

    /// Both kinds of reading read at the same times.
    @Test(arguments: [25...25, 0...60]) func onlyTheTurnsDiffer(delay: ClosedRange<Int>) throws {
        let (joined, each) = (try Self.play(LateReading(delay)), try Self.play(LateReading(delay, isJoined: false)))
        #expect(joined.times == each.times)
    }

    @Test func randomTimesSplitAndJoin() throws {
        let courses = try (1...20).map { try Self.play(LateReading(0...60), seed: $0).turns }
        #expect(Set(courses).count > 15)
        let sizes = Set(courses.flatMap { $0.map(\.count) })
        #expect(sizes.isSuperset(of: [1, 2, 3]))
        #expect(try Self.play(LateReading(0...60), seed: 3).turns == courses[2])
    }

    /// The answer to a command comes within the second that a controller has. Core Vol 4, Part E, 4.4.
    @Test func anAnswerIsReadInTime() throws {
        let loop = RunLoop()
        var read: [Microseconds] = []
        let reader = LateReader(
            LateReading(1_500...1_500), on: loop, number: { $0.lowerBound }, handOn: { _ in read.append(loop.now) })
        try loop.run {
            reader.add(Self.packet(1))
            try await loop.sleep(for: .milliseconds(100))
            reader.add(HCIPacket(completeOpcode: 0x0C03, returns: [0]))
            try await loop.sleep(for: .milliseconds(1_300))
            reader.add(Self.packet(2))
            reader.flush()
        }
        #expect(read == [.milliseconds(600), .milliseconds(600), .milliseconds(1_400)])
    }
}
