import BBBenchTesting
import BBPackets
import BBTiming
import BBTraffic
import Testing

@testable import BBSimulation

/// Inquiry as the air log shows it, beside LE on the same radios. Core Vol 2, Part B, 2.6.4, 8.4.2 and 8.4.3.
@Suite struct InquiryOnAirTests {
    private final class Log {
        var baseband: [(frame: BasebandFrame, start: Microseconds)] = []
        var le: [(frame: AirFrame, start: Microseconds)] = []

        func watch(_ world: World) {
            world.simulation.logAir { [unowned self] frame, start in
                switch frame {
                case .le(let frame): le.append((frame, start))
                case .bredr(let frame): baseband.append((frame, start))
                }
            }
        }

        var ids: [Microseconds] { baseband.filter { $0.frame.payload.isEmpty }.map(\.start) }
    }

    @Test func idPacketsAndAnswersLieInTheirHalfSlots() throws {
        try InquiryTests.run(hosts: 2, seed: 3) { world in
            let log = Log()
            log.watch(world)
            let (inquirer, scanner) = (world.hosts[0], world.hosts[1])
            try await scanner.succeed(
                HCICommands.WriteExtendedInquiryResponse(extendedInquiryResponse: InquiryTests.extended([2, 1, 6])),
                HCICommands.WriteScanEnable(scanEnable: 1))
            try await inquirer.succeed(
                HCICommands.WriteInquiryMode(inquiryMode: 2), HCICommands.Inquiry(lap: InquiryTests.general, inquiryLength: 4))
            try await world.loop.sleep(for: .seconds(6))
            let ids = log.ids
            // Two in each slot pair of 1.25 ms for 5.12 s, except during responses.
            #expect((8_180...8_192).contains(ids.count))
            let gaps = Set(zip(ids, ids.dropFirst()).map { $1 - $0 })
            #expect(gaps.isSuperset(of: [Microseconds(halfMicroseconds: 625), Microseconds(halfMicroseconds: 1_875)]))
            #expect(gaps.allSatisfy { $0 % Microseconds(halfMicroseconds: 625) == 0 })
            let fhs = try #require(log.baseband.first { $0.frame.packetHeader >> 3 & 15 == 2 })
            let id = try #require(log.baseband.last { $0.start == fhs.start - 625 })
            #expect(id.frame.lap == InquiryTests.general && fhs.frame.lap == InquiryTests.general && fhs.frame.payload.count == 20)
            let phase = try #require(InquiryHops.idChannels.firstIndex(of: id.frame.rfChannel))
            #expect(fhs.frame.rfChannel == InquiryHops.responseChannels[phase])
            let extended = try #require(log.baseband.first { $0.start == fhs.start + 1_250 })
            #expect(extended.frame.rfChannel == fhs.frame.rfChannel && extended.frame.payload.starts(with: [3 << 3 | 2, 2, 1, 6]))
            #expect(!inquirer.all(HCIEvents.ExtendedInquiryResult.self).isEmpty)
        }
    }

    /// An inquiry pauses only during the device's own interlaced scan windows, 22.5 ms each, and for the rest of a 10 ms train. The windows
    /// are at least half an interval apart.
    @Test(arguments: [UInt8(1), 2, 3]) func ownInterlacedScansTakeTheirWindowsAndNoMore(_ scanEnable: UInt8) throws {
        try InquiryTests.run(hosts: 1, seed: 7) { world in
            let (log, host) = (Log(), world.hosts[0])
            log.watch(world)
            try await host.succeed(
                HCICommands.WriteInquiryScanActivity(inquiryScanInterval: 0x0800, inquiryScanWindow: 0x0012),
                HCICommands.WriteInquiryScanType(scanType: 1), HCICommands.WritePageScanType(pageScanType: 1),
                HCICommands.WriteScanEnable(scanEnable: scanEnable), HCICommands.Inquiry(lap: InquiryTests.general, inquiryLength: 8))
            try await world.loop.sleep(for: .seconds(11))
            let windows = 2 * 8 * scanEnable.nonzeroBitCount
            let gaps = zip(log.ids, log.ids.dropFirst()).map { $1 - $0 }.filter { $0 > 2_500 }
            #expect(!gaps.isEmpty && gaps.count <= windows && gaps.allSatisfy { $0 < 2 * 22_500 + 10_000 })
            let undisturbed = 2 * 8 * 1_280_000 / 1_250
            #expect(log.ids.count > undisturbed - windows * 2 * (22_500 + 10_000) / 1_250, "\(log.ids.count) of \(undisturbed)")
        }
    }

    /// A device that continuously scans on LE, advertises and inquires sends one packet at a time and makes progress with everything.
    @Test func oneRadioServesBothKinds() throws {
        try InquiryTests.run(hosts: 3, seed: 5) { world in
            let log = Log()
            let (busy, classic, advertiser) = (world.hosts[0], world.hosts[1], world.hosts[2])
            try await classic.succeed(
                HCICommands.WriteInquiryScanActivity(inquiryScanInterval: 0x0200, inquiryScanWindow: 0x0012),
                HCICommands.WriteScanEnable(scanEnable: 1))
            try await advertiser.succeed(
                HCICommands.LESetAdvertisingParameters(
                    advertisingIntervalMin: 0xA0, advertisingIntervalMax: 0xA0, advertisingChannelMap: 7),
                HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
            try await busy.succeed(
                HCICommands.LESetAdvertisingParameters(
                    advertisingIntervalMin: 0x40, advertisingIntervalMax: 0x40, advertisingChannelMap: 7),
                HCICommands.LESetAdvertisingEnable(advertisingEnable: 1),
                HCICommands.LESetScanParameters(leScanInterval: 0x10, leScanWindow: 0x10), HCICommands.LESetScanEnable(leScanEnable: 1))
            try await world.loop.sleep(for: .seconds(1))
            let alone = busy.all(HCIEvents.LEAdvertisingReport.self).count
            log.watch(world)
            try await busy.succeed(HCICommands.Inquiry(lap: InquiryTests.general, inquiryLength: 8))
            try await world.loop.sleep(for: .seconds(11))
            #expect(!busy.all(HCIEvents.InquiryResult.self).isEmpty)
            let reports = busy.all(HCIEvents.LEAdvertisingReport.self).count
            #expect(alone > 5 && reports > 11 * alone / 4 && reports < 11 * alone)
            // About half of the ID packets of an inquiry without competition: two in each even slot of 8 x 1.28 s.
            let undisturbed = 2 * 8 * 1_280_000 / 1_250
            #expect((undisturbed * 2 / 5..<undisturbed * 3 / 5).contains(log.ids.count), "\(log.ids.count) of \(undisturbed)")
            let own = log.le.filter { $0.frame.bytes.count > 12 && Array($0.frame.bytes[6..<12]) == World.address(0).octets }.map(\.start)
            #expect(own.count > 3 * 100)
            let both = (log.ids.map { ($0, Microseconds(68)) } + own.map { ($0, Microseconds(128)) }).sorted { $0.0 < $1.0 }
            #expect(zip(both, both.dropFirst()).allSatisfy { $0.0 + $0.1 <= $1.0 })
        }
    }

    /// ID packets also use the frequency of an LE channel, and corrupt overlapping packets there.
    @Test(arguments: [(UInt8(24), false), (25, true)]) func packetsOfBothKindsMeetOnAFrequency(_ rfChannel: UInt8, _ isIntact: Bool) throws
    {
        final class Ear: RadioActivity {
            let radio: Radio
            let priority = 1
            var isIntact: [Bool] = []
            init(_ air: Air) {
                radio = air.makeRadio()
                _ = radio.acquire(self)
            }
            func received(_ reception: Reception) { isIntact.append(reception.isIntact) }
            func windowClosed() {}
            func preempted() {}
        }
        let loop = RunLoop()
        let air = Air(loop: loop, seed: 1)
        let (ear, speaker, inquirer) = (Ear(air), Ear(air), Ear(air))
        let tuning = Tuning(channel: 38, phy: .le1M)
        ear.radio.listen(tuning, from: 0, until: 1_000)
        speaker.radio.transmit(LEPacket(AirPDU(header: 0, [1, 2, 3]), tuning, phy: .le1M), at: 100)
        inquirer.radio.transmit(BREDRPacket(rfChannel: rfChannel, lap: InquiryTests.general), at: 120)
        try loop.run { try await loop.sleep(for: 2_000) }
        #expect(ear.isIntact == [isIntact])
    }
}
