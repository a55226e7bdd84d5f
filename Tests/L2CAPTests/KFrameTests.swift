import BBPackets
import Testing

@testable import BBL2CAP

/// K-frames of a credit-based channel. Core Vol 3, Part A, 3.4.3.
@Suite struct KFrameTests {
    @Test(arguments: [
        (["0300 010203"], [KFrameReassembly.Outcome.sdu([1, 2, 3])]),
        (["0300 01", "02", "03"], [.part, .part, .sdu([1, 2, 3])]),
        (["0000", "0100 09"], [.sdu([]), .sdu([9])]),
        (["03"], [.fault(.noLength)]),
        // The next frame begins another SDU.
        (["0200 01", "0203", "0100 07"], [.part, .fault(.lengthExceeded), .sdu([7])]),
        (["1100 01"], [.fault(.tooLong)]),
    ])
    func frames(_ frames: [String], _ outcomes: [KFrameReassembly.Outcome]) {
        var reassembly = KFrameReassembly()
        for (frame, outcome) in zip(frames, outcomes) {
            let octets = Hex.parse(frame) ?? []
            let taken = reassembly.take(octets.span.bytes, mtu: 16)
            #expect(taken == outcome)
        }
    }

    @Test(arguments: [("0A0102000000 02", 1), ("0A01020000000B0204000100 ", 2), ("0A01FF0000", 1), ("0A01", 0)])
    func commandsOfAPDU(_ text: String, _ count: Int) {
        let octets = Hex.parse(text) ?? []
        let ranges = SignalingCommand.ranges(octets, in: octets.indices)
        #expect(ranges.count == count && ranges.allSatisfy { $0.upperBound <= octets.count })
    }
}
