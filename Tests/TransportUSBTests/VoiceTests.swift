import BBPackets
import BBTiming
import Testing

@testable import BBTransportUSB

/// Voice over isochronous pipes. Core Vol 4, Part B, 2.1.1.
@Suite struct VoiceTests {
    // MARK: Alternate settings

    static let all = [(1, 9), (2, 17), (3, 25), (4, 33), (5, 49), (6, 63)].map { VoiceAlternate(number: UInt8($0.0), frameSize: $0.1) }

    @Test(arguments: [
        (1, VoiceNeed.Coding.bits8, 1), (2, .bits8, 2), (3, .bits8, 3), (1, .bits16, 2), (2, .bits16, 4), (3, .bits16, 5),
        (1, .transparent, 6),
    ])
    func eachNeedHasItsSetting(channels: Int, coding: VoiceNeed.Coding, number: UInt8) throws {
        let need = VoiceNeed(channels: channels, coding: coding)
        #expect(try VoiceChoice.setting(for: need, of: Self.all).number == number)
        // Three frames contain a packet: a header and 3 ms of every channel.
        let setting = try VoiceChoice.setting(for: need, of: Self.all)
        let octets = setting.packetOctets
        #expect(setting.frames(for: octets) == (number == 6 ? 1 : 3))
        if coding == .bits16 { #expect(octets == 3 * 16 * channels) }
        if coding == .bits8 { #expect(octets == 3 * 8 * channels) }
    }

    @Test func whatIsMissingIsNamed() {
        let two = VoiceNeed(channels: 2, coding: .bits16)
        #expect(throws: VoiceProblem.noInterface) { try VoiceChoice.setting(for: two, of: []) }
        let few = Array(Self.all.prefix(2))
        #expect(throws: VoiceProblem.noSetting(two, wanted: [4], offered: [1, 2])) { try VoiceChoice.setting(for: two, of: few) }
        #expect(throws: VoiceProblem.undefined(VoiceNeed(channels: 4, coding: .bits8))) {
            try VoiceChoice.setting(for: VoiceNeed(channels: 4, coding: .bits8), of: Self.all)
        }
        #expect(throws: VoiceProblem.undefined(VoiceNeed(channels: 2, coding: .transparent))) {
            try VoiceChoice.setting(for: VoiceNeed(channels: 2, coding: .transparent), of: Self.all)
        }
        #expect(
            VoiceProblem.noSetting(two, wanted: [4], offered: [1, 2]).description
                == "2 16-bit voice channels need alternate setting 4 of the voice interface; this dongle offers 1, 2")
        let old = try? VoiceChoice.setting(for: VoiceNeed(channels: 1, coding: .transparent), of: Array(Self.all.prefix(5)))
        #expect(old?.number == 1)
    }

    @Test func aSettingThatIsKnownToFailIsPassedOver() throws {
        let one = VoiceNeed(channels: 1, coding: .bits8)
        var workarounds = USBWorkarounds()
        workarounds.avoidedVoiceSettings = [1]
        #expect(try VoiceChoice.setting(for: one, of: Self.all, workarounds).number == 2)
        workarounds.transparentVoiceSetting = 3
        #expect(try VoiceChoice.setting(for: VoiceNeed(channels: 1, coding: .transparent), of: Self.all, workarounds).number == 3)
        workarounds.hasNoVoice = true
        #expect(throws: VoiceProblem.knownToFail) { try VoiceChoice.setting(for: one, of: Self.all, workarounds) }
    }

    @Test func zerosBeforeATransparentFrameAreTakenOff() {
        func packet(_ data: [UInt8]) -> HCIPacket { HCIPacket(.sco, [0x45, 0, UInt8(data.count)] + data) }
        let frame = [UInt8](repeating: 9, count: 60)
        let padded = packet([UInt8](repeating: 0, count: 20) + frame)
        var control = VoiceControl(offered: Self.all)
        var results = [control.unpadded(padded)]
        _ = control.note(event: Self.connected(0x45, airMode: 3))
        results += [control.unpadded(padded), control.unpadded(packet(frame))]
        #expect(results == [padded, packet(frame), packet(frame)])
        #expect(control.unpadded == 1)
    }

    @Test(arguments: [
        (51, 17, [17, 17, 17]), (27, 9, [9, 9, 9]), (20, 17, [17, 3]), (3, 49, [3]), (63, 63, [63]), (0, 17, []), (5, 0, []),
    ])
    func packetsAreCutIntoFrames(octets: Int, size: Int, frames: [Int]) {
        #expect(VoiceChoice.frames(octets: octets, frameSize: size) == frames)
    }

    // MARK: Links

    static func connected(_ handle: UInt8, airMode: UInt8? = nil) -> HCIPacket {
        guard let airMode else { return HCIPacket(.event, [0x03, 11, 0, handle, 0, 1, 2, 3, 4, 5, 6, 0, 0]) }
        return HCIPacket(.event, [0x2C, 17, 0, handle, 0, 1, 2, 3, 4, 5, 6, 2, 12, 2, 60, 0, 60, 0, airMode])
    }
    static func disconnected(_ handle: UInt8) -> HCIPacket { HCIPacket(.event, [0x05, 4, 0, handle, 0, 0x13]) }
    static let reset = HCIPacket(.event, [0x0E, 4, 1, 0x03, 0x0C, 0])

    @Test func theSettingFollowsTheLinks() {
        var control = VoiceControl(offered: Self.all)
        #expect(throws: VoiceProblem.noLink) { try control.setting() }
        #expect(control.note(event: Self.connected(1)) == .init(setting: Self.all[1], handles: [1]))
        #expect(control.state == .changing(to: Self.all[1]))
        #expect(control.note(event: Self.connected(1)) == nil)
        control.settled(.success(Self.all[1]))
        #expect(control.state == .on(Self.all[1]))
        #expect(control.note(event: Self.connected(2)) == .init(setting: Self.all[3], handles: [1, 2]))
        control.settled(.success(Self.all[1]))
        #expect(control.state == .changing(to: Self.all[3]), "an old change settles nothing")
        #expect(control.note(event: Self.disconnected(2)) == .init(setting: Self.all[1], handles: [1]))
        #expect(control.note(event: Self.disconnected(1)) == .init(setting: nil, handles: []))
        #expect(control.state == .off)
        control.note(command: HCIPacket(opcode: 0x0C26, parameters: [0x43, 0x00]))
        #expect(control.note(event: Self.connected(3)) == .init(setting: Self.all[0], handles: [3]))
        #expect(control.note(event: Self.reset) == .init(setting: nil, handles: []))
        #expect(control.note(event: Self.connected(3)) == .init(setting: Self.all[1], handles: [3]), "a reset takes the voice setting back")
        #expect(control.note(event: Self.connected(4, airMode: 3))?.setting == nil)
        #expect(throws: VoiceProblem.undefined(VoiceNeed(channels: 2, coding: .transparent))) { try control.setting() }
        #expect(control.note(event: Self.disconnected(3)) == .init(setting: Self.all[5], handles: [4]))
        control.settled(.failure(.failed(setting: 6, "stalled")))
        #expect(control.state == .unavailable(.failed(setting: 6, "stalled")))
    }

    // MARK: Reassembly

    /// A packet with known octets: handle, length, then the handle's low octet and a number, repeated.
    static func packet(_ number: UInt8, handle: UInt8 = 7, octets: Int = 48, status: UInt8 = 0) -> HCIPacket {
        HCIPacket(
            .sco,
            [handle, status << 4, UInt8(octets)]
                + (0..<octets).map { (index: Int) -> UInt8 in UInt8(truncatingIfNeeded: 0x80 | (Int(number) * 3 + index)) })
    }

    struct Pipe {
        var reassembly = VoiceReassembly()
        var delivered: [HCIPacket] = []

        init(_ handles: Set<UInt16> = [7, 8]) { reassembly.handles = handles }

        mutating func frame(_ octets: some Sequence<UInt8>) {
            Array(octets).withUnsafeBytes { bytes in reassembly.frame(bytes) { delivered.append($0) } }
        }
    }

    static func cut(_ bytes: [UInt8], _ size: Int) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min(bytes.count, $0 + size)] }
    }

    @Test(arguments: 1...63) func packetsComeTogetherFromFramesOfAnySize(_ size: Int) {
        let packets: [HCIPacket] = (0..<9).map { (number: UInt8) -> HCIPacket in
            let octets = number % 3 == 0 ? 48 : 21
            return Self.packet(number, handle: 7 + number % 2, octets: octets, status: number % 4)
        }
        // Each packet in separate frames, and all packets as one stream.
        for frames in [packets.flatMap { Self.cut($0.bytes, size) }, Self.cut(packets.flatMap(\.bytes), size)] {
            var pipe = Pipe()
            for frame in frames {
                pipe.frame([])
                pipe.frame(frame)
            }
            #expect(pipe.delivered == packets)
            #expect(pipe.reassembly.statistics.resynchronisations == 0)
        }
    }

    /// Each frame of a stream of packets is lost once.
    @Test(arguments: [9, 17, 25, 49, 51, 63]) func aLostFrameCostsItsPacketOnly(_ size: Int) {
        let packets = (0..<6).map { Self.packet(UInt8($0)) }
        let frames = packets.enumerated().flatMap { entry in Self.cut(entry.element.bytes, size).map { (entry.offset, $0) } }
        for lost in frames.indices {
            var pipe = Pipe()
            for (index, frame) in frames.enumerated() {
                if index == lost { pipe.reassembly.frameWasLost() } else { pipe.frame(frame.1) }
            }
            let victim = frames[lost].0
            #expect(pipe.delivered == packets.enumerated().filter { $0.offset != victim }.map(\.element), "frame \(lost) of size \(size)")
            #expect(pipe.reassembly.statistics.lostFrames == 1 && pipe.reassembly.statistics.resynchronisations == 1)
        }
    }

    /// An empty frame where data was due, and then the next packet.
    @Test func aMissingPieceThatNobodyReportsIsNoticedAtTheNextHeader() {
        var pipe = Pipe()
        let packets = (0..<5).map { Self.packet(UInt8($0)) }
        for (index, packet) in packets.enumerated() {
            for (place, frame) in Self.cut(packet.bytes, 17).enumerated() { pipe.frame(index == 2 && place == 2 ? [] : frame) }
        }
        #expect(pipe.delivered == [packets[0], packets[1], packets[3], packets[4]])
    }

    /// Data vanishes silently: its packet is corrupt, the next one is lost, then reassembly is synchronized again.
    @Test(arguments: 1...2) func aPieceThatVanishesCostsTwoPackets(_ place: Int) {
        var pipe = Pipe()
        let packets = (0..<6).map { Self.packet(UInt8($0)) }
        for (index, packet) in packets.enumerated() {
            for (number, frame) in Self.cut(packet.bytes, 17).enumerated() where index != 2 || number != place { pipe.frame(frame) }
        }
        #expect(pipe.delivered.filter { packets.contains($0) } == [packets[0], packets[1], packets[4], packets[5]])
        #expect(pipe.reassembly.statistics.resynchronisations == 1)
    }

    @Test func aStreamThatIgnoresFramesIsFoundAgainWithinOne() {
        let packets = (0..<12).map { Self.packet(UInt8($0)) }
        let frames = Self.cut(packets.flatMap(\.bytes), 16)
        for lost in 8..<20 {
            var pipe = Pipe()
            for (index, frame) in frames.enumerated() {
                if index == lost { pipe.reassembly.frameWasLost() } else { pipe.frame(frame) }
            }
            #expect(pipe.delivered.allSatisfy { packets.contains($0) } && pipe.delivered.count >= 9, "frame \(lost)")
            #expect(pipe.delivered.last == packets.last)
        }
    }

    @Test func noiseAndStrangersAreThrownAway() {
        var random = RandomSource(seed: 3)
        var pipe = Pipe([7])
        for _ in 0..<5_000 {
            let count = Int(random.next() % 64)
            pipe.frame((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
        pipe.reassembly.frameWasLost()
        pipe.delivered = []
        pipe.frame(Self.packet(1, handle: 9).bytes)
        #expect(pipe.delivered.isEmpty)
        pipe.reassembly.restart()
        pipe.frame(Self.packet(2).bytes)
        #expect(pipe.delivered == [Self.packet(2)])
    }
}
