import Packets
import Testing
import Timing
import Transport

@Suite struct H4FramerTests {
    private let octets = sampleStream.flatMap(\.h4)

    @Test func theStreamMayBeSplitAnywhere() throws {
        for split in 0...octets.count {
            var framer = H4Framer()
            var packets: [HCIPacket] = []
            for piece in [octets[..<split], octets[split...]] {
                framer.append(Array(piece))
                while let packet = try framer.next() { packets.append(packet) }
            }
            #expect(packets == sampleStream)
            #expect(framer.pendingCount == 0)
        }
    }

    @Test(arguments: [1, 2, 3, 7, 64, 1_000])
    func piecesOfAnySizeGiveTheSamePackets(size: Int) throws {
        var framer = H4Framer()
        var packets: [HCIPacket] = []
        let many = Array(repeatElement(octets, count: 200).joined())
        for start in stride(from: 0, to: many.count, by: size) {
            framer.append(Array(many[start..<min(many.count, start + size)]))
            while let packet = try framer.next() { packets.append(packet) }
        }
        #expect(packets == Array(repeatElement(sampleStream, count: 200).joined()))
    }

    @Test func anUnknownIndicatorEndsTheStreamAfterWhatWasGood() throws {
        for indicator in UInt8.min...UInt8.max where HCIPacket.Kind(rawValue: indicator) == nil {
            var framer = H4Framer()
            framer.append(sampleStream[0].h4 + [indicator, 0, 0, 0])
            #expect(try framer.next() == sampleStream[0])
            for _ in 0..<2 { #expect(throws: H4Framer.Failure.unknownIndicator(indicator, offset: 4)) { try framer.next() } }
        }
    }

    @Test func aPacketLongerThanAllowedEndsTheStreamBeforeItIsGathered() {
        var framer = H4Framer(longestPacket: 260)
        framer.append([0x02, 0x40, 0x20, 0x01, 0x01])
        #expect(throws: H4Framer.Failure.tooLong(.acl, length: 261, offset: 0)) { try framer.next() }
    }

    @Test func randomOctetsNeverTrap() {
        var random = RandomSource(seed: 1)
        for _ in 0..<2_000 {
            var framer = H4Framer()
            for _ in 0..<4 {
                framer.append([UInt8.random(in: 0...6, using: &random)] + random.octets(Int.random(in: 0...40, using: &random)))
                while let packet = try? framer.next() { #expect(packet.isWhole) }
            }
        }
    }
}
