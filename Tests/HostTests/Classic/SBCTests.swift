import BBPackets
import Testing

@testable import BBHost

/// SBC's frames, and the packets of a source at their pace. What a decoder makes of them is tested in Tests/Reference.
@Suite struct SBCTests {
    // MARK: Capabilities

    /// The A2DP configuration 44.1 kHz, joint stereo, 16 blocks, 8 subbands, loudness, bitpool 53.
    @Test func theSettingOfHighQuality() throws {
        let setting = try #require(AVDTPCapability(.mediaCodec, [0, 0, 0x21, 0x15, 0x02, 0x35]).sbc)
        let parameters = try #require(SBCParameters(setting))
        #expect(parameters.frameLength == 119)
        // 119 octets for 128 samples: 328.0 kbit/s.
        #expect(parameters.bitRate / 100 == 3_279 || parameters.bitRate / 100 == 3_280)
        #expect(parameters.header == [0x9C, 0xBD, 0x35])
        #expect(SBCParameters(frame: parameters.header) == parameters)
    }

    @Test(arguments: SBCParameters.ChannelMode.allCases, [4, 8])
    func framesHaveTheirLength(_ mode: SBCParameters.ChannelMode, _ subbands: Int) throws {
        for blocks in [4, 8, 12, 16] {
            for bitpool in [2, 19, 53, 16 * subbands] {
                let parameters = try #require(
                    SBCParameters(frequency: 48_000, blocks: blocks, mode: mode, allocation: .snr, subbands: subbands, bitpool: bitpool))
                var encoder = SBCEncoder(parameters)
                var tone = Tone(cycle: 37, amplitude: 30_000)
                let samples = (0..<parameters.samples).map { _ in tone.next() }
                let frame = encoder.frame([[Int16]](repeating: samples, count: mode.channels)) ?? []
                #expect(frame.count == parameters.frameLength)
                #expect(SBCParameters(frame: frame) == parameters)
            }
        }
    }

    static let wrong: [(Int, Int, SBCParameters.ChannelMode, Int, Int)] = [
        (8_000, 16, .mono, 8, 32), (44_100, 5, .mono, 8, 32), (44_100, 16, .mono, 6, 32), (44_100, 16, .mono, 8, 1),
        (44_100, 16, .mono, 8, 129), (44_100, 16, .stereo, 4, 129), (44_100, 16, .stereo, 8, 251),
    ]

    @Test(arguments: wrong.indices)
    func whatTheFormatCannotSay(_ index: Int) {
        let (frequency, blocks, mode, subbands, bitpool) = Self.wrong[index]
        #expect(
            SBCParameters(frequency: frequency, blocks: blocks, mode: mode, allocation: .snr, subbands: subbands, bitpool: bitpool) == nil)
    }

    /// The bits of a frame never exceed the bitpool, and use all of it if there is a signal.
    @Test(arguments: SBCParameters.ChannelMode.allCases, SBCParameters.Allocation.allCases)
    func bitsFillThePool(_ mode: SBCParameters.ChannelMode, _ allocation: SBCParameters.Allocation) throws {
        for (subbands, bitpool) in [(4, 2), (4, 31), (4, 64), (8, 2), (8, 53), (8, 128)] {
            let parameters = try #require(
                SBCParameters(
                    frequency: 44_100, blocks: 16, mode: mode, allocation: allocation, subbands: subbands, bitpool: bitpool))
            for seed in 0..<16 {
                let factors = (0..<mode.channels).map { channel in
                    (0..<subbands).map { ($0 * 7 + channel * 5 + seed * 11) % 16 }
                }
                let bits = SBCBitAllocation.bits(parameters, scaleFactors: factors)
                #expect(bits.joined().allSatisfy { (0...16).contains($0) })
                let sums = mode == .stereo || mode == .jointStereo ? [bits.joined().reduce(0, +)] : bits.map { $0.reduce(0, +) }
                #expect(sums.allSatisfy { $0 <= bitpool })
            }
        }
    }

    // MARK: Media

    /// One second of audio takes one second, whatever the packet size.
    @Test(arguments: [132, 335, 672, 1_013, 4_096])
    func packetsKeepTheirPace(_ mtu: Int) throws {
        let parameters = try #require(
            SBCParameters(frequency: 44_100, blocks: 16, mode: .jointStereo, allocation: .loudness, subbands: 8, bitpool: 53))
        var source = try #require(A2DPSource(parameters, mtu: mtu))
        var sink = A2DPSink(parameters)
        let start = Microseconds.seconds(5)
        source.start(at: start)
        var sent = 0
        while let due = source.deadline, due < start + .seconds(1) {
            let packets = source.expire(at: due)
            #expect(packets.count == 1 && packets[0].count <= mtu)
            for packet in packets { sink.receive(packet) }
            sent += 1
        }
        let frames = min(15, (mtu - 13) / 119)
        #expect(sent == (44_100 + 128 * frames - 1) / (128 * frames))
        #expect(sink.packets == sent && sink.frames == sent * frames && sink.lost == 0 && sink.malformed == 0)
        source.stop()
        #expect(source.deadline == nil && source.packetCount == sent)
    }

    /// Reused frames are identical to those of an encoder that encodes every frame.
    @Test(arguments: [4, 25, 100])
    func framesComeAgain(_ cycle: Int) throws {
        let parameters = try #require(
            SBCParameters(frequency: 16_000, blocks: 4, mode: .stereo, allocation: .snr, subbands: 4, bitpool: 30))
        let tone = Tone(cycle: cycle, amplitude: 20_000)
        var source = try #require(A2DPSource(parameters, mtu: 100, tone: tone))
        var encoder = SBCEncoder(parameters)
        var other = tone
        source.start(at: 0)
        for _ in 0..<40 {
            let packets = source.expire(at: source.deadline ?? 0)
            let packet = try A2DPMediaPacket(packets.first ?? [])
            var frames: [UInt8] = []
            for _ in 0..<packet.frameCount {
                let samples = (0..<parameters.samples).map { _ in other.next() }
                frames += encoder.frame([samples, samples]) ?? []
            }
            #expect(packet.frames == frames)
        }
    }

    @Test func framesMustFit() throws {
        let parameters = try #require(
            SBCParameters(frequency: 44_100, blocks: 16, mode: .jointStereo, allocation: .loudness, subbands: 8, bitpool: 53))
        #expect(A2DPSource(parameters, mtu: 131) == nil)
        var source = try #require(A2DPSource(parameters, mtu: 132))
        source.start(at: 0)
        // One second late: some packets are sent at once, the others are skipped, and the rate is kept.
        let late = source.expire(at: .seconds(1))
        #expect(late.count == A2DPSource.burst)
        let due = try #require(source.deadline)
        #expect(due > .seconds(1) && due < .seconds(1) + 2_903)
    }

    @Test(arguments: [
        "", "80", "4060 0000 00000000 00000001 01", "8060 0000 00000000 00000001 01", "8060 0000 00000000 00000001 00", "8f60 0000",
    ])
    func whatIsNoPacketIsCounted(_ text: String) throws {
        let parameters = try #require(
            SBCParameters(frequency: 44_100, blocks: 16, mode: .mono, allocation: .snr, subbands: 8, bitpool: 32))
        var sink = A2DPSink(parameters)
        sink.receive(Hex.parse(text) ?? [])
        #expect(sink.malformed == 1 && sink.packets == 0)
    }

    @Test func lossIsCounted() throws {
        let parameters = try #require(
            SBCParameters(frequency: 16_000, blocks: 4, mode: .mono, allocation: .snr, subbands: 4, bitpool: 16))
        var source = try #require(A2DPSource(parameters, mtu: 48))
        var sink = A2DPSink(parameters)
        source.start(at: 0)
        for index in 0..<10 {
            let packets = source.expire(at: source.deadline ?? 0)
            for packet in packets where index != 3 && index != 4 { sink.receive(packet) }
        }
        #expect(sink.packets == 8 && sink.lost == 2)
    }
}
