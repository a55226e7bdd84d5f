#if os(Linux)
    import Foundation
    import Testing
    import BBTiming

    /// Packets travel through libusb to a virtual dongle's controller and back; both ends count them.
    @Suite(.serialized, .onFakeUSB)
    struct LoopbackTests {
        /// Output of `bluebench loopback --json`.
        struct Figures: Decodable {
            var sent: Int
            var returned: Int
            var lost: Int
            var duplicated: Int
            var reordered: Int
            var corrupted: Int
            var overflows: Int
            var octets: Int
            var handles: Int
        }

        private func loop(_ bus: FakeUsbfsBus, _ options: [String]) throws -> (figures: Figures, output: String) {
            let file = bus.folder + ".json"
            defer { try? FileManager.default.removeItem(atPath: file) }
            let result = try #require(try bus.run(["loopback", "usb:1-1", "--json", file] + options))
            try #require(result.code == 0, "\(result.output)")
            return (try JSONDecoder().decode(Figures.self, from: Data(contentsOf: URL(fileURLWithPath: file))), result.output)
        }

        private func expectClean(_ figures: Figures, _ packets: Int) {
            #expect(figures.sent == packets && figures.returned == packets)
            #expect([figures.lost, figures.duplicated, figures.reordered, figures.corrupted, figures.overflows].allSatisfy { $0 == 0 })
        }

        private func expectNothingLeft(_ bus: FakeUsbfsBus) {
            #expect(bus.server.counters(0).openHandles == 0 && bus.server.counters(0).pending == 0)
            #expect(bus.server.leftBehind.pending == 0 && bus.server.leftBehind.claims == 0)
        }

        @Test func noPacketIsDropped() throws {
            let bus = try FakeUsbfsBus()
            let packets = 20_000
            let (figures, output) = try loop(bus, ["--packets", "\(packets)"])
            expectClean(figures, packets)
            #expect(figures.octets == 251 && output.contains("limit: "), "\(output)")
            #expect(bus.server.traffic(0).dataOut == packets && bus.server.traffic(0).dataIn == packets)
            expectNothingLeft(bus)
        }

        /// Lengths around those at which a bulk transfer ends with a full packet, and the shortest.
        @Test(arguments: [8, 59, 60, 61, 124, 188, 252 - 4]) func packetsOfAnyLengthComeBack(_ octets: Int) throws {
            let bus = try FakeUsbfsBus()
            let (figures, _) = try loop(bus, ["--packets", "200", "--octets", "\(octets)"])
            expectClean(figures, 200)
            #expect(figures.octets == octets)
            expectNothingLeft(bus)
        }

        /// One 16-bit channel needs frames of 17 octets, two need 33, three need 49.
        @Test(arguments: [(1, 2, 48), (2, 4, 96), (3, 5, 144)]) func voiceComesBackOverIsochronousPipes(
            channels: Int, setting: Int, octets: Int
        ) throws {
            let bus = try FakeUsbfsBus(configure: { ($0.synchronousLength, $0.synchronousCount) = (255, UInt16(channels)) })
            let (figures, output) = try loop(bus, ["--voice", "--packets", "400"])
            expectClean(figures, 400)
            #expect(figures.handles == channels && figures.octets == octets)
            #expect(output.contains("alternate setting \(setting), \(octets / 3 + 1) octets a frame"), "\(output)")
            #expect(bus.server.traffic(0).voiceOut == 400 && bus.server.traffic(0).voiceIn == 400)
            #expect(bus.server.voiceAlternate(0) == 0, "without links there is no voice")
            expectNothingLeft(bus)
        }

        @Test func aControllerWithoutVoiceSaysSo() throws {
            let bus = try FakeUsbfsBus()
            let result = try #require(try bus.run(["loopback", "usb:1-1", "--voice"]))
            #expect(result.code == 3 && result.output.contains("no buffers for voice"), "\(result.output)")
            expectNothingLeft(bus)
        }
    }
#endif
