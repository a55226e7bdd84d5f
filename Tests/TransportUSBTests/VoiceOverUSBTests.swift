#if os(Linux)
    import Foundation
    import BBPackets
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// Voice between two dongles of a fake usbfs, over the isochronous pipes of both. Core Vol 4, Part B, 2.1.1.
    @Suite(.serialized, .onFakeUSB)
    struct VoiceOverUSBTests {
        private static func bus(
            voicePacketSizes: [Int] = [0, 9, 17, 25, 33, 49, 63], quirks: [String] = []
        ) throws -> FakeUsbfsBus {
            try FakeUsbfsBus(
                conduct: DongleConduct(quirks), subject: DongleConduct(), voicePacketSizes: voicePacketSizes
            ) { $0.profile = .dual }
        }

        struct Row: Sendable, CustomTestStringConvertible {
            var cases: [String]
            /// Alternate settings that the voice needs, among those of the dongles.
            var settings: Set<UInt8>
            var sizes = [0, 9, 17, 25, 33, 49, 63]
            var testDescription: String { "\(cases) in \(settings.sorted())" }
        }

        /// Transparent data uses setting 6, or 1 on dongles without it; CVSD from 16-bit samples uses 2. Voice of either host arrives at
        /// the other.
        @Test(arguments: [
            Row(cases: ["bredr-lmp/esco-voice[by=subject]", "bredr-lmp/sco-voice"], settings: [2, 6]),
            Row(cases: ["bredr-lmp/esco-voice[by=tester]"], settings: [1], sizes: [0, 9, 17, 25, 33, 49]),
        ])
        func theSettingFitsTheVoice(_ row: Row) throws {
            let bus = try Self.bus(voicePacketSizes: row.sizes)
            let words = ["run"] + row.cases + ["--tester", "usb:1-1", "--subject", "usb:1-2", "--slack", "500"]
            let result = try #require(try bus.run(words))
            #expect(result.code == 0 && result.output.contains("\(row.cases.count) PASS"), "\(result.output)")
            for dongle in 0..<2 {
                let traffic = bus.server.traffic(dongle)
                #expect(traffic.voiceAlternates == row.settings && traffic.voiceIn > 40, "\(bus.server.account(of: dongle))")
                #expect(bus.server.voiceAlternate(dongle) == 0, "without links there is no voice")
            }
        }

        /// Audio part of the output of `bluebench bridge --json`.
        private struct Line: Decodable {
            var event: String
            var codec: String?
            var packets: Int?
            var taken: Int?
            var lost: Int?
            var frames: Int?
            var malformed: Int?
        }

        private static func lines(_ program: SpawnedProgram) -> [Line] {
            program.output.split(separator: "\n").compactMap { try? JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        }

        /// A phone and an accessory program with the hands-free profile only.
        private static func call(_ bus: FakeUsbfsBus, seconds: Int) throws -> (phone: SpawnedProgram, accessory: SpawnedProgram) {
            let words = ["--json", "--profiles", "hfp", "--bonds"]
            let accessory = try SpawnedProgram(
                ["bridge", "usb:1-2", "--advertise", "car"] + words + [bus.folder + "/far.json"], folder: bus.folder)
            #expect(try accessory.prints("\"advertising\"", on: bus.loop), "\(accessory.output)")
            let peer = ["--peer", "02:BB:00:00:00:02/public", "--seconds", "\(seconds)"]
            return (
                try SpawnedProgram(["bridge", "usb:1-1"] + peer + words + [bus.folder + "/near.json"], folder: bus.folder), accessory
            )
        }

        /// Every twentieth isochronous packet to the phone is lost: it detects the missing frames by their numbers, and the rest of the
        /// call is intact. On a busy machine fewer frames are sent in these seconds, and some come too late.
        @Test func framesOfACallAreCountedAtBothEnds() throws {
            let bus = try Self.bus(quirks: ["loses-voice=20"])
            let before = SpawnedProgram.ownStarved
            let (phone, accessory) = try Self.call(bus, seconds: 2)
            #expect(try phone.end(on: bus.loop) && accessory.end(on: bus.loop))
            #expect(phone.reap() == 0 && accessory.reap() == 0, "\(phone.output)\(accessory.output)")
            let ends = try [phone, accessory].map { program in
                try #require(Self.lines(program).first { $0.event == "audio_ended" }, "\(program.output)")
            }
            let starved = [phone.starved, accessory.starved, SpawnedProgram.ownStarved - before].reduce(.zero, +)
            let isQuiet = starved < .milliseconds(200)
            for (end, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                let (sent, frames) = (try #require(end.packets), try #require(other.frames))
                // A frame is sent every 7.5 ms; the last ones depend on when each end learns of the end.
                #expect(end.codec == "mSBC" && frames > 0 && frames <= sent && other.malformed == 0, "\(ends)")
                if isQuiet { #expect(sent > 100 && frames > sent / 2, "\(ends)") }
            }
            let lost = try ends.map { try #require($0.lost) }
            #expect(lost[0] > 0, "\(ends)")
            if isQuiet { #expect(lost[0] >= 8 && lost[1] < lost[0], "\(ends)") }
            #expect((0..<2).allSatisfy { bus.server.traffic($0).voiceAlternates == [6] && bus.server.voiceAlternate($0) == 0 })
        }

        /// A dongle that leaves with its voice interface in use ends the program with the environment's exit code.
        @Test func anUnplugDuringACallIsTold() throws {
            let bus = try Self.bus()
            let (phone, accessory) = try Self.call(bus, seconds: 1_200)
            let server = bus.server
            let hasVoice = try bus.loop.run { [loop = bus.loop] in
                let deadline = loop.now + SpawnedProgram.timeout
                while loop.now < deadline, server.traffic(0).voiceIn < 20 { try await loop.sleep(for: .milliseconds(5)) }
                return server.voiceAlternate(0) != 0
            }
            #expect(hasVoice, "\(phone.output)")
            server.unplug(0)
            #expect(try phone.end(on: bus.loop), "\(phone.output)")
            #expect(phone.reap() == 3, "\(phone.output)")
            accessory.interrupt()
            #expect(try accessory.end(on: bus.loop))
        }
    }
#endif
