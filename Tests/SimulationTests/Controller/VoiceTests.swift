import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Voice between two hosts over SCO and eSCO, and how it is coded. Core Vol 2, Part B, 9; Vol 4, Part E, 5.4.3 and 6.12.
@Suite struct VoiceTests {
    private static func tone(_ count: Int, hertz: Double = 800) -> [Int16] {
        // A rotation by a constant angle, given its sine and cosine.
        var (real, imaginary) = (0.0, 8_000.0)
        let angle = 2 * Double.pi * hertz / 8_000
        let (sine, cosine) = (
            angle - angle * angle * angle / 6 + angle * angle * angle * angle * angle / 120,
            1 - angle * angle / 2 + angle * angle * angle * angle / 24
        )
        return (0..<count).map { _ in
            (real, imaginary) = (real * cosine + imaginary * sine, imaginary * cosine - real * sine)
            let scale = 8_000 / max(1, (real * real + imaginary * imaginary).squareRoot())
            (real, imaginary) = (real * scale, imaginary * scale)
            return Int16(saturating: real)
        }
    }

    /// Correlation of two signals, 0...1, with the later one shifted by a few samples.
    private static func likeness(_ a: [Int16], _ b: [Int16]) -> Double {
        (0..<4).map { lag in
            let pairs = zip(a.dropFirst(20), b.dropFirst(20 + lag)).map { (Double($0), Double($1)) }
            let product = pairs.reduce(0) { $0 + $1.0 * $1.1 }
            let power = pairs.reduce(0) { $0 + $1.0 * $1.0 } * pairs.reduce(0) { $0 + $1.1 * $1.1 }
            return power > 0 ? product / power.squareRoot() : 0
        }.max() ?? 0
    }

    /// Voice_Setting with linear input: ones' and two's complement, sign and magnitude, unsigned; 16 and 8 bits.
    @Test(arguments: [UInt16(0x0060), 0x0020, 0x00A0, 0x00E0, 0x0040, 0x00C0]) func linearVoiceIsRecoded(_ setting: UInt16) {
        let isWide = setting & 0x20 != 0
        let samples = Self.tone(800)
        func octets(_ sample: Int16) -> [UInt8] {
            let magnitude = UInt16(sample.magnitude)
            let word: UInt16 =
                switch setting >> 6 & 3 {
                case 0: sample < 0 ? ~magnitude : magnitude
                case 1: UInt16(bitPattern: sample)
                case 2: magnitude | (sample < 0 ? 0x8000 : 0)
                default: UInt16(bitPattern: sample) &+ 0x8000
                }
            return isWide ? [UInt8(word & 0xFF), UInt8(word >> 8)] : [UInt8(word >> 8)]
        }
        var (sender, receiver) = (
            VoiceCoder(VoiceSetting(rawValue: setting), airMode: 2), VoiceCoder(VoiceSetting(rawValue: setting), airMode: 2)
        )
        let sent = samples.flatMap(octets)
        let air = sender.toAir(sent[...])
        #expect(air.count == samples.count)
        let heard = receiver.fromAir(air[...])
        #expect(heard.count == sent.count)
        // The same samples read back in two's complement, for comparison.
        var reader = VoiceCoder(VoiceSetting(rawValue: 0x0060), airMode: 2)
        let plain = reader.fromAir(air[...])
        let decoded = stride(from: 0, to: plain.count, by: 2).map { Int16(bitPattern: UInt16(plain[$0]) | UInt16(plain[$0 + 1]) << 8) }
        // The shift is half a sample off, which reduces the correlation by about 5 % at 800 Hz.
        #expect(Self.likeness(samples, decoded) > 0.95, "\(Self.likeness(samples, decoded))")
        #expect(heard == decoded.flatMap(octets))
    }

    @Test(arguments: [(UInt16(0x0063), UInt8(3)), (0x0160, 2), (0x0060, 3)]) func otherVoiceGoesAsItIs(_ setting: UInt16, _ airMode: UInt8)
    {
        var coder = VoiceCoder(VoiceSetting(rawValue: setting), airMode: airMode)
        let octets = (0..<60).map { UInt8($0 * 3) }
        #expect(coder.toAir(octets[...]) == octets && coder.fromAir(octets[...]) == octets)
    }

    /// Synchronous data packets of one host arrive at the other in order, with concurrent ACL data.
    @Test(arguments: [true, false]) func voiceFlowsBetweenHosts(_ isExtended: Bool) throws {
        try InquiryTests.run(hosts: 2, seed: 5) { world in
            let pair = try await BREDRConnectionTests.connect(world)
            let length = isExtended ? 60 : 30
            let handles = try [(pair.atCentral, LinkRole.central), (pair.atPeripheral, .peripheral)].enumerated().map { index, end in
                let controller = try #require(world.simulation.controller(ControllerID(rawValue: index))).bredr
                let acl = try #require(controller.links.first { $0.handle == end.0 })
                let type: BREDRPacketType = isExtended ? .twoEV3 : .hv3
                let parameters = SynchronousParameters(
                    isExtended: isExtended, ltAddr: 3, flags: 0, offset: 2, interval: isExtended ? 12 : 6, window: isExtended ? 4 : 0,
                    transmitType: type, receiveType: type, transmitLength: UInt16(length), receiveLength: UInt16(length), airMode: 3)
                acl.link.apply(.synchronous(id: 1, parameters))
                return controller.addSynchronous(1, parameters, voiceSetting: VoiceSetting(rawValue: 0x0063), on: acl).handle
            }
            #expect(handles[0] != pair.atCentral && handles[1] != pair.atPeripheral)
            let hosts = [pair.central, pair.peripheral]
            for number in 1...100 as ClosedRange<UInt8> {
                for (host, handle) in zip(hosts, handles) {
                    let voice = [UInt8](repeating: number, count: length)
                    host.transport.send(
                        HCIPacket(.sco, [UInt8(handle.rawValue & 0xFF), UInt8(handle.rawValue >> 8), UInt8(length)] + voice))
                }
                pair.central.sendData(pair.atCentral, [UInt8](repeating: number, count: 200))
                try await world.loop.sleep(for: isExtended ? 7_500 : 3_750)
            }
            try await world.loop.sleep(for: .milliseconds(100))
            for (host, handle) in zip(hosts, handles) {
                let heard = host.log.map(\.packet).filter { $0.kind == .sco && $0.dataHandle == handle }
                let numbers = heard.compactMap(\.bytes.last).filter { $0 != 0 }
                #expect(heard.allSatisfy { $0.bytes.count == length + 3 } && numbers == (1...100).map { UInt8($0) })
            }
        }
    }
}
