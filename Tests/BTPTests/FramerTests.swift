import BBBTP
import BBPackets
import Testing

/// Frames in a stream: as written down in the protocol's description, octet by octet.
@Suite struct FramerTests {
    /// Read Supported Services, Register GAP, and Set Connectable with one octet.
    static let stream: [UInt8] = [0, 2, 0xFF, 0, 0, 0, 3, 0xFF, 1, 0, 1, 1, 6, 0, 1, 0, 1]
    static let frames = [
        BTPFrame(.core, 2), BTPFrame(.core, 3, data: [1]), BTPFrame(.gap, 6, index: 0, data: [1]),
    ]

    @Test(arguments: 1...17) func findsFramesInPiecesOfAnyLength(size: Int) throws {
        var framer = BTPFramer()
        var found: [BTPFrame] = []
        for start in stride(from: 0, to: Self.stream.count, by: size) {
            found += try framer.receive(Self.stream[start..<min(start + size, Self.stream.count)])
        }
        #expect(found == Self.frames)
        #expect(!framer.isInside)
    }

    @Test func waitsForTheRestOfAFrame() throws {
        var framer = BTPFramer()
        #expect(try framer.receive(Self.stream.dropLast()).count == 2)
        #expect(framer.isInside)
    }

    @Test func refusesAFrameThatIsTooLong() {
        var framer = BTPFramer(limit: 1_019)
        #expect(throws: BTPFramer.TooLong(length: 1_020, limit: 1_019)) { try framer.receive([1, 0x81, 0, 0xFC, 0x03]) }
    }

    @Test(arguments: frames) func writesWhatItReads(frame: BTPFrame) throws {
        var framer = BTPFramer()
        #expect(try framer.receive(frame.bytes) == [frame])
    }

    @Test func bitmapsAreLittleEndian() {
        #expect(BTPBitmap([0, 1, 2, 3]).octets == [0x0F])
        #expect(BTPBitmap([1, 2, 0x0A, 0x19]).octets == [0x06, 0x04, 0x00, 0x02])
        #expect(!BTPBitmap(octets: [0x0F]).contains(8))
    }
}
