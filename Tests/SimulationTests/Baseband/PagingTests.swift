import BBBenchTesting
import BBPackets
import BBTiming
import Foundation
import Testing

@testable import BBSimulation

/// Pages and page scans without hosts. Core Vol 2, Part B, 8.3.
@Suite struct PagingTests {
    static let address: BDADDR = 0x1234_5678_9ABC
    static let own: BDADDR = 0x0011_2289_6745

    /// A pager and a page scanner, and the result.
    final class Bench: PagerDelegate, PageScannerDelegate {
        let bench: AirBench
        let pagerClock: NativeClock
        let scannerClock: NativeClock
        var pager: Pager!
        var scanner: PageScanner?
        var reached: [Microseconds] = []
        var joined: [(central: FHSPayload, sent: Microseconds, start: Microseconds)] = []
        var timedOutAt: Microseconds?
        var packets: [(packet: BREDRPacket, start: Microseconds)] = []

        init(seed: UInt64, _ location: SourceLocation = #_sourceLocation) {
            bench = AirBench(seed: seed, location)
            var random = RandomSource(seed: seed, label: "clocks")
            pagerClock = NativeClock(&random)
            scannerClock = NativeClock(&random)
        }

        /// The scanner's clock minus the pager's, as a clock offset in units of 1.25 ms.
        var clockOffset: Int { (scannerClock.tick(at: 0) >> 2 - pagerClock.tick(at: 0) >> 2) << 2 }

        func scan(_ settings: PageScanner.Settings) {
            let scanner = PageScanner(settings, address: address, clock: scannerClock, radio: bench.air.makeRadio(), delegate: self)
            self.scanner = scanner
            scanner.start()
        }

        func page(_ settings: Pager.Settings) {
            pager = Pager(settings, clock: pagerClock, radio: bench.air.makeRadio(), delegate: self)
            pager.start()
        }

        func end() {
            pager.stop()
            scanner?.stop()
        }

        func handover(of pager: Pager, at start: Microseconds) -> FHSPayload {
            FHSPayload(
                address: own, classOfDevice: 0x5A_020C, pageScanRepetition: 1,
                clock: NativeClock.value(of: pagerClock.tick(at: start)) >> 2,
                announcesExtended: false, ltAddr: 5)
        }
        func pager(_ pager: Pager, reachedAt start: Microseconds) { reached.append(start) }
        func pagerTimedOut(_ pager: Pager) { timedOutAt = bench.loop.now }
        func pageScanner(_ scanner: PageScanner, joins central: FHSPayload, sentAt sent: Microseconds, firstPacketAt start: Microseconds) {
            joined.append((central, sent, start))
        }
    }

    struct Row: Sendable {
        var interval: Int
        var window: Int
        var isInterlaced = false
        var mode: UInt8
        var isClockKnown = true
        /// Latest response, in slots.
        var latest: Int
    }

    /// With a known clock, a page is answered in the first window: within a train of 16 slots plus the slots of a window. With an unknown
    /// clock, in the first window of the other train.
    static let rows = [
        Row(interval: 0x0800, window: 0x0800, mode: 0, latest: 16 + 8),
        Row(interval: 0x0800, window: 0x0012, mode: 1, latest: 2_048 + 18 + 8),
        Row(interval: 0x1000, window: 0x0012, mode: 2, latest: 4_096 + 18 + 8),
        Row(interval: 0x0400, window: 0x0012, mode: 1, latest: 1_024 + 18 + 8),
        Row(interval: 0x0800, window: 0x0800, mode: 0, isClockKnown: false, latest: 3 * 16 + 8),
        Row(interval: 0x0800, window: 0x0012, mode: 1, isClockKnown: false, latest: 3 * 2_048 + 8),
        Row(interval: 0x0800, window: 0x0012, isInterlaced: true, mode: 1, isClockKnown: false, latest: 2_048 + 36 + 8),
        Row(interval: 0x1000, window: 0x0012, mode: 2, isClockKnown: false, latest: 3 * 4_096 + 8),
    ]

    @Test(arguments: rows, 1...4 as ClosedRange<UInt64>) func aPageIsAnsweredInTime(_ row: Row, _ seed: UInt64) throws {
        let bench = Bench(seed: seed)
        bench.scan(.init(interval: NativeClock.slot * row.interval, window: NativeClock.slot * row.window, isInterlaced: row.isInterlaced))
        try bench.bench.run(Microseconds(Int(seed) * 123_457))
        let began = bench.bench.loop.now
        bench.page(
            .init(
                address: Self.address, clockOffset: row.isClockKnown ? bench.clockOffset : 0, repetitionMode: row.mode,
                timeout: .seconds(20)))
        try bench.bench.run(NativeClock.slot * (row.latest + 4))
        let start = try #require(bench.reached.first)
        let joined = try #require(bench.joined.first)
        #expect(start - began <= NativeClock.slot * row.latest)
        #expect(bench.reached.count == 1 && bench.joined.count == 1 && joined.start == start && joined.sent == start - 1_250)
        #expect(joined.central.address == Self.own && joined.central.ltAddr == 5)
        // The clock in the FHS packet is the pager's at the start of the packet.
        let clock = NativeClock(showing: Int(joined.central.clock) << 2, at: joined.sent)
        #expect(NativeClock.value(of: clock.tick(at: start)) == NativeClock.value(of: bench.pagerClock.tick(at: start)))
        bench.end()
    }

    /// A device that scans once in 1.28 s is found in its first scan, or its second with the other train, whatever the phase of its scans.
    @Test(arguments: [0, 1] as [UInt8], 0..<32) func noPhaseOfAScanIsMissedForEver(_ mode: UInt8, _ phase: Int) throws {
        for isClockKnown in [false, true] {
            let bench = Bench(seed: UInt64(phase) + 1)
            bench.scan(.init(interval: NativeClock.slot * 0x0800, window: NativeClock.slot * 0x0012))
            try bench.bench.run(Microseconds(phase * 40_003))
            let began = bench.bench.loop.now
            bench.page(
                .init(
                    address: Self.address, clockOffset: isClockKnown ? bench.clockOffset : 0, repetitionMode: mode,
                    timeout: .milliseconds(5_120)))
            try bench.bench.run(.milliseconds(5_200))
            let start = try #require(bench.reached.first, "the page timed out")
            #expect(start - began <= NativeClock.slot * (3 * 2_048 + 8))
            bench.end()
        }
    }

    /// ID, ID, FHS, ID: 625 us, the next even slot, 625 us; each on its channel of the page hopping sequence.
    @Test(arguments: 1...16 as ClosedRange<UInt64>) func theResponseFollowsSlotBySlot(_ seed: UInt64) throws {
        let bench = Bench(seed: seed)
        var log: [(frame: BasebandFrameOnAir, start: Microseconds)] = []
        bench.bench.air.log = { frame, start in
            if case .bredr(let frame) = frame { log.append((BasebandFrameOnAir(frame.rfChannel, frame.packetHeader, frame.lap), start)) }
        }
        bench.scan(.init(interval: 1_280_000, window: 1_280_000))
        bench.page(.init(address: Self.address, clockOffset: bench.clockOffset, repetitionMode: 0, timeout: .seconds(5)))
        try bench.bench.run(40_000)
        let at = try #require(log.firstIndex { $0.frame.isFHS })
        try #require(log.count > at + 1 && at > 1)
        let (fhs, answer) = (log[at], log[at + 1])
        let response = log[at - 1]
        let page = try #require(log[..<(at - 1)].last { $0.start == response.start - 625 })
        #expect(answer.start == fhs.start + 625 && log.allSatisfy { $0.frame.lap == Self.address.lap })
        #expect([937.5, 1_250].contains((fhs.start - page.start).seconds * 1_000_000))
        #expect(
            bench.pagerClock.tick(at: fhs.start) & 3 == 0 && bench.pagerClock.start(of: bench.pagerClock.tick(at: fhs.start)) == fhs.start)
        let hop = PageHops.scanPhase(clock: NativeClock.value(of: bench.scannerClock.tick(at: page.start)))
        let channels = PageChannels(Self.address)
        #expect(page.frame.channel == channels.id(hop) && response.frame.channel == channels.response(hop))
        #expect(fhs.frame.channel == channels.id(hop + 1) && answer.frame.channel == channels.response(hop + 1))
        bench.bench.air.log = nil
        bench.end()
    }

    struct BasebandFrameOnAir {
        var channel: UInt8
        var isFHS: Bool
        var lap: UInt32
        init(_ channel: UInt8, _ header: UInt32, _ lap: UInt32) {
            self.channel = channel
            isFHS = header >> 3 & 15 == 2
            self.lap = lap
        }
    }

    @Test(arguments: [0x16, 0x2000, 0xFFFF]) func aPageThatNobodyHearsEndsAtItsTime(_ slots: Int) throws {
        let bench = Bench(seed: 2)
        bench.page(.init(address: Self.address, timeout: NativeClock.slot * slots))
        try bench.bench.run(NativeClock.slot * (slots + 1))
        #expect(bench.timedOutAt == NativeClock.slot * slots && bench.reached.isEmpty)
        bench.end()
    }

    /// With packet loss, FHS packets are repeated, responses lost and pages restarted; a handover ends on both devices, or the pager
    /// continues.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func lostPacketsAreSentAgain(_ seed: UInt64) throws {
        let bench = Bench(seed: seed)
        bench.bench.air.propagation.setLoss(.init(corrupted: 0.2, unnoticed: 0.2), on: .init())
        bench.scan(.init(interval: 1_280_000, window: 1_280_000))
        bench.page(.init(address: Self.address, clockOffset: bench.clockOffset, repetitionMode: 0, timeout: .seconds(3)))
        try bench.bench.run(2_900_000)
        let start = try #require(bench.reached.first)
        #expect(bench.joined.contains { $0.start == start })
        bench.end()
    }

    /// After a failed connection, paging continues for the rest of the page timeout.
    @Test func aPagerGoesOnAfterAConnectionThatFailed() throws {
        let bench = Bench(seed: 4)
        bench.scan(.init(interval: 1_280_000, window: 1_280_000))
        bench.page(.init(address: Self.address, clockOffset: bench.clockOffset, repetitionMode: 0, timeout: 500_000))
        try bench.bench.run(100_000)
        #expect(bench.reached.count == 1)
        bench.pager.resume()
        try bench.bench.run(100_000)
        #expect(bench.reached.count == 2 && bench.timedOutAt == nil)
        try bench.bench.run(400_000)
        bench.pager.resume()
        #expect(bench.reached.count == 2 && bench.timedOutAt == bench.bench.loop.now)
        bench.end()
    }

    struct IdleRow: Sendable {
        var isInterlaced: Bool
        /// Page scan interval of the device that pages, in slots. Its window is 11.25 ms.
        var interval: UInt16 = 0x800
        /// Seconds from Create_Connection to Connection_Complete over all seeds. Interlaced page scan answers in its first window: half an
        /// interval of 1.28 s on average. Standard page scan misses the first train of R2, 2.56 s, in half of the cases.
        var mean: Double
        var most: Double
    }

    /// Inquiry and page between two hosts with both scans enabled at the same time, so that their windows coincide.
    @Test(arguments: [
        IdleRow(isInterlaced: true, mean: 0.8, most: 1.4), IdleRow(isInterlaced: false, mean: 2.2, most: 4),
        IdleRow(isInterlaced: false, interval: 0x40, mean: 2.4, most: 5.12),
        IdleRow(isInterlaced: false, interval: 0x12, mean: 2.4, most: 5.12),
    ])
    func aDeviceThatScansItselfFindsAndPagesAnother(_ row: IdleRow) throws {
        var times: [Double] = []
        // SOAK=1: all seeds; otherwise every fourth.
        let isLong = ProcessInfo.processInfo.environment["SOAK"] != nil
        for seed in stride(from: 1 as UInt64, through: 40, by: isLong ? 1 : 4) {
            times += try InquiryTests.run(hosts: 2, seed: seed) { world in
                let (near, far) = (world.hosts[0], world.hosts[1])
                for host in world.hosts {
                    try await host.succeed(
                        HCICommands.WriteInquiryScanType(scanType: row.isInterlaced ? 1 : 0),
                        HCICommands.WritePageScanType(pageScanType: row.isInterlaced ? 1 : 0),
                        HCICommands.SetEventFilter(filterType: 2, filterCondition: [0, 2]), HCICommands.WriteScanEnable(scanEnable: 3))
                }
                try await near.succeed(
                    HCICommands.WritePageScanActivity(pageScanInterval: row.interval, pageScanWindow: 0x12),
                    HCICommands.Inquiry(lap: InquiryTests.general, inquiryLength: 8))
                let found: HCIEvents.InquiryResult = try await near.next(within: .seconds(11))
                #expect(found.responses.map(\.bdADDR) == [World.address(1).bdADDR])
                try await near.succeed(HCICommands.InquiryCancel())
                try await world.loop.sleep(for: .milliseconds(Int(seed) * 997 % 5_120))
                let began = world.loop.now
                try await near.succeed(
                    HCICommands.CreateConnection(
                        bdADDR: World.address(1).bdADDR, packetType: 0xCC18, pageScanRepetitionMode: 2, clockOffset: 0, allowRoleSwitch: 1))
                let made: HCIEvents.ConnectionComplete = try await near.next(within: .seconds(6))
                #expect(made.status == .success, "seed \(seed)")
                _ = try await far.next(HCIEvents.ConnectionComplete.self)
                return [(world.loop.now - began).seconds]
            }
        }
        let mean = times.reduce(0, +) / Double(times.count)
        #expect(mean < row.mean && times.max()! < row.most, "mean \(mean), most \(times.max()!)")
    }
}
