import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import BBTraffic
import Testing

/// Periodic advertising trains in the air log, and syncs with them. The expected values are calculated separately. Core Vol 6, Part B,
/// 4.4.2.12 and 4.4.3.4.
@Suite struct PeriodicTrainTests {
    /// The packets of a train in the air log, and the SyncInfo fields that announce it.
    private final class Log {
        struct Packet {
            var start: Int
            var rfChannel: UInt8
            var payload: Advertising.CommonExtendedAdvertisingPayload
        }

        var announcements: [(start: Int, info: Structures.SyncInfo)] = []
        var packets: [UInt32: [Packet]] = [:]

        init(_ world: World) {
            world.simulation.logAir { [unowned self] frame, start in
                guard case .le(let frame) = frame, frame.modulation != .leCoded else { return }
                let bytes = frame.bytes
                let address = bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
                let body = Array(bytes.dropFirst(6).prefix(Int(bytes[5])))
                guard bytes[4] & 0x0F == 7, let payload = try? Advertising.CommonExtendedAdvertisingPayload(parameters: body) else {
                    return
                }
                if let info = payload.syncInfo { announcements.append((Int(start.rawValue), info)) }
                if address != 0x8E89_BED6 {
                    packets[address, default: []].append(Packet(start: Int(start.rawValue), rfChannel: frame.rfChannel, payload: payload))
                }
            }
        }
    }

    private static func begin(_ host: RawHost, interval: UInt16, data: [UInt8] = [1, 2, 3], properties: UInt16 = 0) async throws {
        try await host.succeed(
            ExtendedTests.parameters(properties: 0, interval: 0x40),
            HCICommands.LESetPeriodicAdvertisingParameters(
                periodicAdvertisingIntervalMin: interval, periodicAdvertisingIntervalMax: interval,
                periodicAdvertisingProperties: properties))
        var rest = data[...]
        while rest.count > 252 {
            try await host.succeed(
                HCICommands.LESetPeriodicAdvertisingData(
                    operation: rest.count == data.count ? .first : .intermediate,
                    advertisingData: Array(rest.prefix(252))))
            rest = rest.dropFirst(252)
        }
        try await host.succeed(
            HCICommands.LESetPeriodicAdvertisingData(
                operation: rest.count == data.count ? .complete : .last,
                advertisingData: Array(rest)),
            HCICommands.LESetPeriodicAdvertisingEnable(enable: 1))
        try await host.enable([0])
    }

    private static func seek(_ host: RawHost, skip: UInt16 = 0, timeout: UInt16 = 500) async throws {
        try await host.openMasks()
        try await host.succeed(ExtendedTests.scan([.le1M]), HCICommands.LESetExtendedScanEnable(enable: 1))
        let status = try await host.run(
            HCICommands.LEPeriodicAdvertisingCreateSync(
                advertisingSID: 5, advertiserAddress: World.address(0).bdADDR, skip: skip, syncTimeout: timeout))
        #expect(status == .success)
    }

    /// The channel of an event, by the algorithm in another form: bits of the counter are reversed one at a time.
    private static func channel(_ address: UInt32, _ counter: UInt16, _ map: UInt64) -> Int {
        let identifier = Int(address >> 16 ^ address & 0xFFFF)
        var value = Int(counter) ^ identifier
        for _ in 0..<3 {
            var turned = 0
            for bit in 0..<16 where value >> bit & 1 == 1 { turned |= 1 << (bit / 8 * 8 + 7 - bit % 8) }
            value = (turned * 17 + identifier) % 65_536
        }
        let random = value ^ identifier
        let used = (0..<37).filter { map >> UInt64($0) & 1 == 1 }
        return used.contains(random % 37) ? random % 37 : used[used.count * random >> 16]
    }

    @Test(arguments: [6, 24, 200, 4_000] as [UInt16])
    func everyAnnouncementNamesAPacket(_ interval: UInt16) throws {
        try World.run(hosts: 1) { world in
            let log = Log(world)
            try await Self.begin(world.hosts[0], interval: interval)
            try await world.loop.sleep(for: .seconds(12))
            let (address, packets) = try #require(log.packets.first)
            #expect(log.packets.count == 1 && packets.count >= 2 && log.announcements.count > 100)
            for (earlier, later) in zip(packets, packets.dropFirst()) { #expect(later.start - earlier.start == Int(interval) * 1_250) }
            for (start, info) in log.announcements where start < 10_000_000 - 2_500_000 {
                #expect(info.aa == address && info.interval == interval && info.chM == 0x1F_FFFF_FFFF && !info.offsetAdjust)
                guard info.syncPacketOffset > 0 else { continue }
                let unit = info.offsetUnits ? 300 : 30
                let offset = Int(info.syncPacketOffset) * unit
                #expect(info.offsetUnits == (offset >= 245_700))
                let named = try #require(packets.first { ($0.start - start - offset) >= 0 && $0.start - start - offset < unit })
                let channel = Self.channel(address, info.periodicEventCounter, info.chM)
                #expect(Int(named.rfChannel) == (channel <= 10 ? channel + 1 : channel + 2))
                #expect(named.payload.advData == [1, 2, 3] && named.payload.flags == 0 && named.payload.acad.isEmpty)
            }
        }
    }

    /// Each train has an access address of its own, and one that was enabled again is another.
    @Test func aTrainThatBeginsAgainIsAnother() throws {
        try World.run(hosts: 1) { world in
            let log = Log(world)
            let host = world.hosts[0]
            try await Self.begin(host, interval: 24)
            try await world.loop.sleep(for: .seconds(1))
            try await host.succeed(HCICommands.LESetPeriodicAdvertisingEnable(enable: 0))
            let count = log.packets.values.reduce(0) { $0 + $1.count }
            try await world.loop.sleep(for: .seconds(1))
            #expect(log.packets.values.reduce(0) { $0 + $1.count } == count)
            try await host.succeed(HCICommands.LESetPeriodicAdvertisingEnable(enable: 1))
            try await world.loop.sleep(for: .seconds(1))
            #expect(log.packets.count == 2)
        }
    }

    struct Length: CustomTestStringConvertible, Sendable {
        var octets: Int
        /// Packets of an event, by hand: 254 octets in a packet alone, 250 with AuxPtr, 254 in the last.
        var packets: Int
        var testDescription: String { "\(octets) octets" }
    }

    @Test(arguments: [
        Length(octets: 0, packets: 1), Length(octets: 254, packets: 1), Length(octets: 255, packets: 2), Length(octets: 504, packets: 2),
        Length(octets: 505, packets: 3), Length(octets: 1_650, packets: 7),
    ])
    func dataIsReportedWhole(_ row: Length) throws {
        try World.run(hosts: 2) { world in
            let log = Log(world)
            let data = (0..<row.octets).map { UInt8(truncatingIfNeeded: $0) }
            try await Self.begin(world.hosts[0], interval: 80, data: data)
            try await Self.seek(world.hosts[1])
            let sync = try await world.hosts[1].next(HCIEvents.LEPeriodicAdvertisingSyncEstablished.self)
            #expect(sync.status == .success && sync.periodicAdvertisingInterval == 80 && sync.advertiserClockAccuracy == 5)
            try await world.loop.sleep(for: .seconds(1))
            var whole: [UInt8] = []
            var events = 0
            for report in world.hosts[1].all(HCIEvents.LEPeriodicAdvertisingReport.self) {
                #expect(report.syncHandle == sync.syncHandle && report.data.count <= 247 && report.dataStatus <= 1)
                whole += report.data
                guard report.dataStatus == 0 else { continue }
                #expect(whole == data)
                whole = []
                events += 1
            }
            #expect(events >= 9)
            let packets = try #require(log.packets.values.first).count
            #expect(packets >= events * row.packets && packets <= (events + 4) * row.packets)
        }
    }

    struct Clocks: CustomTestStringConvertible, Sendable {
        var advertiser: Int
        var scanner: Int
        var interval: UInt16
        var skip: UInt16
        var testDescription: String { "\(advertiser) and \(scanner) ppm, \(interval), skip \(skip)" }
    }

    /// Clocks at the limits of their accuracies, skipped events and lost packets: no sync is lost.
    @Test(arguments: [
        Clocks(advertiser: 500, scanner: -500, interval: 80, skip: 0), Clocks(advertiser: -500, scanner: 500, interval: 800, skip: 10),
        Clocks(advertiser: 500, scanner: 500, interval: 24, skip: 100), Clocks(advertiser: -500, scanner: 500, interval: 6, skip: 0),
    ])
    func clocksThatDriftAreFollowed(_ row: Clocks) throws {
        let templates = [row.advertiser, row.scanner].map { drift in
            var template = ControllerConfiguration(address: World.address(0))
            (template.clockDrift, template.clockAccuracy) = (drift, 500)
            return template
        }
        try World.run(templates: templates) { world in
            try await Self.begin(world.hosts[0], interval: row.interval)
            try await Self.seek(world.hosts[1], skip: row.skip, timeout: 0x4000)
            _ = try await world.hosts[1].next(HCIEvents.LEPeriodicAdvertisingSyncEstablished.self, within: .seconds(20))
            try await world.loop.sleep(for: .seconds(600))
            #expect(world.hosts[1].all(HCIEvents.LEPeriodicAdvertisingSyncLost.self).isEmpty)
            let reports = world.hosts[1].all(HCIEvents.LEPeriodicAdvertisingReport.self)
            let expected = 600_000_000 / (Int(row.interval) * 1_250 * (1 + Int(row.skip)))
            #expect(reports.count * 10 >= expected * 8 && reports.count <= expected * 11 / 10 + 1)
        }
    }

    /// A train that has ended before its first announced event: six events are awaited, then the host is told.
    @Test func aTrainThatIsGoneIsNotEstablished() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await Self.begin(advertiser, interval: 400)
            try await Self.seek(scanner)
            // SyncInfo has been heard, and the train ends before the event that it names.
            try await world.loop.sleep(for: .milliseconds(150))
            try await advertiser.succeed(HCICommands.LESetPeriodicAdvertisingEnable(enable: 0))
            let event = try await scanner.next(HCIEvents.LEPeriodicAdvertisingSyncEstablished.self, within: .seconds(5))
            #expect(event.status == .connectionFailedToBeEstablished)
            // Another search can begin.
            let again = try await scanner.run(HCICommands.LEPeriodicAdvertisingCreateSync(advertisingSID: 5, syncTimeout: 100))
            #expect(again == .success)
        }
    }

    /// A new channel map is announced before it is used, and used at its instant.
    @Test func channelsChangeAtTheInstant() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            let log = Log(world)
            try await Self.begin(advertiser, interval: 24)
            try await Self.seek(scanner)
            _ = try await scanner.next(HCIEvents.LEPeriodicAdvertisingSyncEstablished.self)
            try await advertiser.succeed(HCICommands.LESetHostChannelClassification(channelMap: 0x03))
            try await world.loop.sleep(for: .seconds(3))
            let packets = try #require(log.packets.values.first)
            let announced = packets.filter { $0.payload.acad.first == 8 && $0.payload.acad.dropFirst().first == 0x28 }
            #expect(announced.count >= 6)
            let last = try #require(announced.last)
            #expect(packets.filter { $0.start > last.start }.allSatisfy { $0.rfChannel == 1 || $0.rfChannel == 2 })
            #expect(scanner.all(HCIEvents.LEPeriodicAdvertisingSyncLost.self).isEmpty)
            #expect(scanner.all(HCIEvents.LEPeriodicAdvertisingReport.self).count > 90)
        }
    }
}
