import BBBenchTesting
import BBPackets
import Testing

@testable import BBSimulation

@Suite struct AirVectorTests {
    @Test(arguments: [
        (37, "8dd257a13da766b0753111489677f8e3"), (38, "d6c5442059dee18f1ba5af427b4ecd60"), (39, "1f374a5f85f69c9ac1d6c5442059dee1"),
        (0, "40b2bcc31f374a5f85f69c9ac1d6c544"), (23, "af427b4ecd60eb6222902ceff0c78dd2"),
    ])
    func whiteningSequence(channel: Int, expected: String) {
        var whitening = Whitening(channel: ChannelIndex(UInt8(channel)))
        var octets = [UInt8](repeating: 0, count: 16)
        whitening.apply(to: &octets)
        #expect(octets == BBBenchTesting.octets(expected))
    }

    /// The CRC register as in the specification's figure, one bit at a time.
    private func bitSerialCRC(_ octets: [UInt8], initial: UInt32) -> [UInt8] {
        var register = (0..<24).map { UInt8(initial >> UInt32($0) & 1) }
        for octet in octets {
            for bit in 0..<8 {
                let feedback = register[23] ^ (octet >> UInt8(bit) & 1)
                register = [0] + register.prefix(23)
                for tap in [0, 1, 3, 4, 6, 9, 10] { register[tap] ^= feedback }
            }
        }
        return (0..<3).map { octet in (0..<8).reduce(0) { $0 | register[23 - octet * 8 - $1] << UInt8($1) } }
    }

    @Test(arguments: [0x555555, 0x000000, 0xABCDEF, 0x123456] as [UInt32])
    func crcAgreesWithTheDrawing(initial: UInt32) {
        for length in [0, 1, 2, 39, 255] {
            let octets = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
            var crc = CRC24(initial: initial)
            crc.add(octets)
            #expect(crc.octets == bitSerialCRC(octets, initial: initial))
        }
    }

    @Test(arguments: [
        (AirPHY.le1M, 0, 80), (.le1M, 27, 296), (.le1M, 31, 328), (.le1M, 251, 2088), (.le1M, 255, 2120),
        (.le2M, 0, 44), (.le2M, 27, 152), (.le2M, 251, 1048), (.le2M, 255, 1064),
        (.codedS2, 0, 462), (.codedS2, 27, 894), (.codedS2, 31, 958), (.codedS2, 251, 4478), (.codedS2, 255, 4542),
        (.codedS8, 0, 720), (.codedS8, 27, 2448), (.codedS8, 31, 2704), (.codedS8, 251, 16784), (.codedS8, 255, 17040),
    ])
    func airTime(phy: AirPHY, payload: Int, expected: Int) {
        #expect(phy.airTime(payload: payload) == Microseconds(expected))
        #expect(phy.payload(within: Microseconds(expected)) == payload)
        #expect(phy.payload(within: Microseconds(expected - 1)) == payload - 1)
    }

    @Test(
        arguments: [
            (0x1F_FFFF_FFFF, 0, 56857, 25), (0x1F_FFFF_FFFF, 1, 1685, 20), (0x1F_FFFF_FFFF, 2, 38301, 6), (0x1F_FFFF_FFFF, 3, 27475, 21),
            (0x1E_00E0_0600, 6, 10975, 23), (0x1E_00E0_0600, 7, 5490, 9), (0x1E_00E0_0600, 8, 46970, 34),
        ] as [(UInt64, UInt16, UInt16, UInt8)])
    func channelSelection2(map: UInt64, counter: UInt16, random: UInt16, channel: UInt8) {
        let algorithm = ChannelSelectionAlgorithm2(accessAddress: 0x8E89_BED6)
        #expect(algorithm.pseudoRandom(counter) == random)
        #expect(algorithm.channel(counter: counter, map: ChannelMap(map)) == ChannelIndex(channel))
    }

    @Test func channelSelection2OnTwoChannels() {
        let algorithm = ChannelSelectionAlgorithm2(accessAddress: 0x8E89_BED6)
        #expect((11...13).map { algorithm.channel(counter: $0, map: ChannelMap(0b110)).rawValue } == [1, 2, 1])
    }

    @Test(arguments: 5...16 as ClosedRange<UInt8>)
    func channelSelection1(hop: UInt8) {
        let algorithm = ChannelSelectionAlgorithm1(hopIncrement: hop)
        let map = ChannelMap(0x1E_00E0_0600)
        var last = 0
        for event in 0..<70_000 {
            let unmapped = (last + Int(hop)) % 37
            last = unmapped
            #expect(algorithm.channel(event: event, map: .all).rawValue == UInt8(unmapped))
            let remapped = map.contains(UInt8(unmapped)) ? UInt8(unmapped) : map.used[unmapped % 9]
            guard event < 100 else { continue }
            #expect(algorithm.channel(event: event, map: map).rawValue == remapped)
        }
    }

    @Test func physicalChannels() {
        let physical = (0..<40).map { ChannelIndex(UInt8($0)).physicalChannel }
        #expect(Set(physical) == Set(0..<40))
        #expect(
            physical[37] == 0 && physical[38] == 12 && physical[39] == 39 && physical[0] == 1 && physical[10] == 11 && physical[11] == 13)
    }
}
