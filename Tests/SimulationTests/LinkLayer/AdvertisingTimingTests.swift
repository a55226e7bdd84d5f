import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import BBTraffic
import Testing

/// Advertising times in the air log: T_IFS, pointers, T_MAFS, advDelay. The expected values are calculated separately.
/// Core Vol 6, Part B, 4.1 and 4.4.2.
@Suite struct AdvertisingTimingTests {
    /// A packet of the log.
    struct Packet: Sendable {
        var type: UInt8
        var payload: [UInt8]
        var rfChannel: UInt8
        var phy: UInt16
        var start: Int
        var end: Int

        init(_ frame: AirFrame, _ start: Microseconds) {
            let isCoded = frame.modulation == .leCoded
            let body = frame.bytes[(isCoded ? 5 : 4)...]
            let length = Int(body[body.startIndex + 1])
            type = body[body.startIndex] & 0x0F
            payload = Array(body[(body.startIndex + 2)...].prefix(length))
            rfChannel = frame.rfChannel
            phy = frame.modulation.rawValue
            self.start = Int(start.rawValue)
            end = self.start + [(10 + length) * 8, (11 + length) * 4, 376 + (5 + length) * 64 + 24][Int(phy)]
        }

        var pointer: (channel: UInt8, offset: Int, unit: Int, phy: UInt16)? {
            guard type == 7, let header = try? Advertising.CommonExtendedAdvertisingPayload(parameters: payload),
                let pointer = header.auxPtr
            else { return nil }
            let unit = pointer.offsetUnits ? 300 : 30
            let channel = pointer.channelIndex <= 10 ? pointer.channelIndex + 1 : pointer.channelIndex + 2
            return (channel, Int(pointer.auxOffset) * unit, unit, UInt16(pointer.auxPHY))
        }
    }

    final class Log {
        var packets: [Packet] = []
    }

    static func listen(_ world: World) async -> Log {
        let log = Log()
        world.simulation.logAir { frame, start in
            if case .le(let frame) = frame { log.packets.append(Packet(frame, start)) }
        }
        return log
    }

    @Test(arguments: [
        (PHY.le1M, PHY.le1M, UInt16(0)), (.le1M, .le2M, 0), (.leCoded, .leCoded, 0), (.le1M, .leCoded, 2), (.leCoded, .le2M, 2),
    ])
    func pointersAreTrueAndGapsAreKept(_ primary: PHY, _ secondary: PHY, _ properties: UInt16) throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await advertiser.succeed(
                ExtendedTests.parameters(properties: properties, primary: primary, secondary: secondary, interval: 0x400))
            try await advertiser.setData([UInt8](repeating: 5, count: 1_000), isScanResponse: properties == 2)
            let log = await Self.listen(world)
            try await advertiser.enable([0])
            try await scanner.succeed(ExtendedTests.scan([primary], type: .active), HCICommands.LESetExtendedScanEnable(enable: 1))
            try await world.loop.sleep(for: .seconds(4))
            let packets = log.packets
            var pointers = 0
            for packet in packets.dropLast(8) {
                guard let pointer = packet.pointer else { continue }
                pointers += 1
                let window = packet.start + pointer.offset..<packet.start + pointer.offset + pointer.unit
                #expect(packets.contains { window.contains($0.start) && $0.rfChannel == pointer.channel && $0.phy == pointer.phy })
                // Packet plus T_MAFS, in whole units. Core Vol 6, Part B, 2.3.4.5.
                #expect(packet.start + pointer.offset >= packet.end + 300)
            }
            #expect(pointers > 20)
            for (earlier, later) in zip(packets, packets.dropFirst()) where later.start - earlier.end < 10_000 {
                let isAnswer = later.type == 3 || (earlier.type == 3 && later.type == 7)
                let isPrimary = [0, 12, 39].contains(later.rfChannel)
                #expect(isAnswer ? later.start - earlier.end == 150 : later.start - earlier.end >= (isPrimary ? 150 : 300))
            }
        }
    }

    /// The interval is the shortest in the range that an event fits into.
    @Test func aLongEventTakesTheIntervalThatItNeeds() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            var parameters = ExtendedTests.parameters(properties: 0, secondary: .leCoded, interval: 0x20)
            parameters.primaryAdvertisingIntervalMax = 0xA0
            try await host.succeed(parameters)
            try await host.setData([UInt8](repeating: 5, count: 1_000))
            let log = await Self.listen(world)
            try await host.enable([0])
            try await world.loop.sleep(for: .seconds(4))
            let starts = log.packets.filter { $0.rfChannel == 0 }.map(\.start)
            let gaps = zip(starts.dropFirst(), starts).map { $0 - $1 }
            #expect(gaps.count > 40 && gaps.allSatisfy { (70_000...85_000).contains($0) })
        }
    }

    /// LE_Set_Host_Channel_Classification also applies to secondary channels. Core Vol 4, Part E, 7.8.19.
    @Test func auxiliaryPacketsKeepToTheChannelsThatTheHostLeaves() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            try await host.succeed(
                HCICommands.LESetHostChannelClassification(channelMap: 0x10_0000_0001),
                ExtendedTests.parameters(properties: 0, interval: 0x40))
            try await host.setData([UInt8](repeating: 5, count: 600))
            let log = await Self.listen(world)
            try await host.enable([0])
            try await world.loop.sleep(for: .seconds(2))
            let channels = Set(log.packets.map(\.rfChannel)).subtracting([0, 12, 39])
            #expect(channels == [1, 38])
        }
    }

    @Test(arguments: [false, true]) func requestsAndAnswersKeepTheInterFrameSpace(_ isExtended: Bool) throws {
        try World.run(hosts: 3) { world in
            let (advertiser, scanner, central) = (world.hosts[0], world.hosts[1], world.hosts[2])
            let log = await Self.listen(world)
            if isExtended {
                try await advertiser.succeed(ExtendedTests.parameters(properties: 1, secondary: .le2M, interval: 0x40))
                try await advertiser.enable([0])
                try await central.succeed(ExtendedTests.create(World.address(0)))
            } else {
                try await advertiser.advertiseLegacy(scanResponse: [2, 10, 0])
                try await scanner.succeed(
                    HCICommands.LESetScanParameters(leScanType: .active, leScanInterval: 0x10, leScanWindow: 0x10),
                    HCICommands.LESetScanEnable(leScanEnable: 1))
                try await world.loop.sleep(for: .milliseconds(200))
                try await central.createConnection(to: World.address(0))
            }
            _ = try await central.next(HCIEvents.LEEnhancedConnectionComplete.self)
            let packets = log.packets
            let asked = packets.indices.dropFirst().filter { [3, 5].contains(packets[$0].type) }
            #expect(asked.contains { packets[$0].type == 5 })
            for index in asked { #expect(packets[index].start - packets[index - 1].end == 150) }
            let answers = packets.indices.dropFirst().filter { [4, 8].contains(packets[$0].type) }
            #expect(!answers.isEmpty)
            for index in answers { #expect(packets[index].start - packets[index - 1].end == 150) }
        }
    }

    @Test func eventsFollowAfterTheIntervalAndADelayOfUpToTenMilliseconds() throws {
        try World.run(hosts: 1) { world in
            let log = await Self.listen(world)
            try await world.hosts[0].advertiseLegacy(.advNonconnInd)
            try await world.loop.sleep(for: .seconds(20))
            let starts = log.packets.filter { $0.rfChannel == 0 }.map(\.start)
            let delays = zip(starts.dropFirst(), starts).map { $0 - $1 - 20_000 }
            #expect(delays.count > 700 && delays.allSatisfy { (0...10_000).contains($0) })
            let mean = delays.reduce(0, +) / delays.count
            #expect(abs(mean - 5_000) < 500 && delays.min()! < 200 && delays.max()! > 9_800)
            let channels = log.packets.map(\.rfChannel)
            #expect(channels.indices.allSatisfy { channels[$0] == [0, 12, 39][$0 % 3] })
        }
    }

    @Test func highDutyCycleRepeatsEveryChannelWithin3750Microseconds() throws {
        try World.run(hosts: 1) { world in
            let log = await Self.listen(world)
            try await world.hosts[0].advertiseLegacy(.advDirectIndHighDuty)
            try await world.loop.sleep(for: .seconds(2))
            for channel: UInt8 in [0, 12, 39] {
                let starts = log.packets.filter { $0.rfChannel == channel }.map(\.start)
                #expect(zip(starts.dropFirst(), starts).allSatisfy { $0 - $1 <= 3_750 } && starts.count > 330)
            }
            #expect((log.packets.last?.end ?? 0) - (log.packets.first?.start ?? 0) <= 1_280_000)
        }
    }
}
