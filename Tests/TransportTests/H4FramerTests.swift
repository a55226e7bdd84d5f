import BBPackets
import BBTiming
import BBTransport
import Testing

@Suite struct H4FramerTests {
    private let octets = sampleStream.flatMap(\.h4)

    @Test func theStreamMayBeSplitAnywhere() throws {
        for split in 0...octets.count {
            var framer = H4Framer()
            var packets: [HCIPacket] = []
            for piece in [octets[..<split], octets[split...]] {
                packets += try framer.packets(of: Array(piece))
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
            packets += try framer.packets(of: Array(many[start..<min(many.count, start + size)]))
        }
        #expect(packets == Array(repeatElement(sampleStream, count: 200).joined()))
    }

    @Test func anUnknownIndicatorEndsTheStreamAfterWhatWasGood() throws {
        for indicator in UInt8.min...UInt8.max where HCIPacket.Kind(rawValue: indicator) == nil {
            var framer = H4Framer()
            (sampleStream[0].h4 + [indicator, 0, 0, 0]).withUnsafeBytes { octets in
                var piece = octets
                #expect(throws: Never.self) { try #expect(framer.next(of: &piece) == sampleStream[0]) }
                for _ in 0..<2 {
                    #expect(throws: H4Framer.Failure.unknownIndicator(indicator, offset: 4)) { try framer.next(of: &piece) }
                }
            }
        }
    }

    @Test func aPacketLongerThanAllowedEndsTheStreamBeforeItIsGathered() {
        let octets: [UInt8] = [0x02, 0x40, 0x20, 0x01, 0x01]
        let failure = H4Framer.Failure.tooLong(.acl, length: 261, offset: 0)
        for split in octets.indices {
            var framer = H4Framer(longestPacket: 260)
            #expect(throws: failure) {
                #expect(try framer.packets(of: Array(octets[..<split])).isEmpty)
                _ = try framer.packets(of: Array(octets[split...]))
            }
        }
    }

    @Test func randomOctetsNeverTrap() {
        var random = RandomSource(seed: 1)
        for _ in 0..<2_000 {
            var framer = H4Framer()
            for _ in 0..<4 {
                let octets = [UInt8.random(in: 0...6, using: &random)] + random.octets(Int.random(in: 0...40, using: &random))
                octets.withUnsafeBytes {
                    var piece = $0
                    while let packet = try? framer.next(of: &piece) { #expect(packet.isWhole) }
                }
            }
        }
    }
}
