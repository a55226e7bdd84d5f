import BBPackets
import BBTiming
import Testing

@testable import BBTransport

extension TimeFramer {
    /// The items that a piece of the stream completes.
    fileprivate mutating func items(of piece: [UInt8]) throws(Failure) -> [Item] {
        var items: [Item] = []
        let failure: Failure? = piece.withUnsafeBytes { octets in
            var rest = octets
            do throws(Failure) {
                while let item = try next(of: &rest) { items.append(item) }
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        return items
    }
}

@Suite struct TimeFramerTests {
    private static let messages: [(TimeMessage, [UInt8])] = [
        (.hello(TimeHello(name: "bumble", clients: 2)), [0x54, 0x01, 8, 0, 1, 2] + Array("bumble".utf8)),
        (.hello(TimeHello()), [0x54, 0x01, 2, 0, 1, 1]),
        (.idle(until: .seconds(1)), [0x54, 0x02, 8, 0, 0x00, 0xCA, 0x9A, 0x3B, 0, 0, 0, 0]),
        (.idle(until: nil), [0x54, 0x02, 8, 0] + [UInt8](repeating: 0xFF, count: 8)),
        (.wake, [0x54, 0x03, 0, 0]), (.bye, [0x54, 0x04, 0, 0]),
        (.expect(clients: 2), [0x54, 0x05, 1, 0, 2]),
        (.welcome(version: 1, now: .init(halfMicroseconds: 1)), [0x54, 0x81, 9, 0, 1, 0xF4, 1, 0, 0, 0, 0, 0, 0]),
        (.time(.init(halfMicroseconds: 3)), [0x54, 0x82, 8, 0, 0xDC, 5, 0, 0, 0, 0, 0, 0]),
        (.fault("no"), [0x54, 0x83, 2, 0, 0x6E, 0x6F]),
    ]

    @Test(arguments: messages) func aMessageHasTheseOctets(message: TimeMessage, octets: [UInt8]) throws {
        #expect(message.octets == octets)
        var framer = TimeFramer()
        #expect(try framer.items(of: octets) == [.message(message)])
    }

    @Test(arguments: [1, 2, 3, 5, 64, 100_000])
    func packetsAndMessagesMayBeSplitAnywhere(size: Int) throws {
        let items = zip(sampleStream, Self.messages).flatMap { [TimeFramer.Item.packet($0.0), .message($0.1.0)] }
        let octets = zip(sampleStream, Self.messages).flatMap { $0.0.h4 + $0.1.1 }
        var (framer, found) = (TimeFramer(), [TimeFramer.Item]())
        for start in stride(from: 0, to: octets.count, by: size) {
            found += try framer.items(of: Array(octets[start..<min(octets.count, start + size)]))
        }
        #expect(found == items)
    }

    @Test func aTimeBetweenTwoTicksIsTheLaterOne() throws {
        var framer = TimeFramer()
        #expect(try framer.items(of: [0x54, 0x02, 8, 0, 1, 2, 0, 0, 0, 0, 0, 0]) == [.message(.idle(until: .init(halfMicroseconds: 2)))])
    }

    @Test(arguments: [
        ([0x54, 0x06, 0, 0], TimeFramer.Failure.unknownCode(6)), ([0x54, 0x02, 7, 0], .malformed(2, length: 7)),
        ([0x54, 0x03, 0, 1], .malformed(3, length: 256)), ([0x54, 0x01, 1, 0], .malformed(1, length: 1)),
        ([0x54, 0x01, 67, 0], .malformed(1, length: 67)), ([0x54, 0x01, 3, 0, 1, 1, 0xFF], .malformed(1, length: 3)),
        ([0x07], .packet(.unknownIndicator(7, offset: 0))),
    ]) func aMessageThatCannotBeEndsTheStream(octets: [UInt8], failure: TimeFramer.Failure) {
        var framer = TimeFramer()
        #expect(throws: failure) { try framer.items(of: octets) }
    }

    @Test func randomOctetsNeverTrap() {
        var random = RandomSource(seed: 1)
        for _ in 0..<2_000 {
            var framer = TimeFramer()
            let octets = (0..<40).map { _ in UInt8(random.next() & (random.next() & 1 == 0 ? 0xFF : 0x57)) }
            _ = try? framer.items(of: octets)
        }
    }
}
