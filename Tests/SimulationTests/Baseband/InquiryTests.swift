import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Inquiry and inquiry scan, as hosts see them. Core Vol 4, Part E, 7.1.1 and 7.7.1; Vol 2, Part B, 8.4.
@Suite struct InquiryTests {
    static let general: UInt32 = 0x9E_8B33
    static let limited: UInt32 = 0x9E_8B00

    @discardableResult
    static func run<Value: Sendable>(
        hosts: Int, seed: UInt64 = 1, _ body: @escaping @Sendable (World) async throws -> Value
    ) throws -> Value {
        try World.run(hosts: hosts, seed: seed, template: CommandTableTests.template(.dual), body)
    }

    static func extended(_ data: [UInt8]) -> [UInt8] { data + [UInt8](repeating: 0, count: 240 - data.count) }

    @Test(arguments: [UInt8(1), 8, 48]) func nobodyIsFoundInTheTimeThatWasAsked(_ length: UInt8) throws {
        try Self.run(hosts: 2) { world in
            let host = world.hosts[0]
            try await host.succeed(HCICommands.Inquiry(lap: Self.limited, inquiryLength: length))
            let began = world.loop.now
            #expect(try await host.run(HCICommands.Inquiry(lap: Self.general, inquiryLength: 1)) == .commandDisallowed)
            try await host.finishInquiry(in: world)
            let duration = try #require(host.log.last).time - began
            #expect(abs(duration.rawValue - Int64(length) * 1_280_000) < 100)
            #expect(host.log.last?.packet.bytes.first == HCIEvents.InquiryComplete.code)
            try await host.succeed(HCICommands.Inquiry(lap: Self.general, inquiryLength: 1))
        }
    }

    /// Three devices with the default scan activity, one of them with an extended inquiry response.
    @Test(arguments: 1...8 as ClosedRange<UInt64>) func everyDiscoverableDeviceIsToldOnce(_ seed: UInt64) throws {
        for mode: UInt8 in 0...2 {
            try Self.run(hosts: 5, seed: seed) { world in
                let inquirer = world.hosts[0]
                for (index, host) in world.hosts.enumerated().dropFirst() {
                    // Offset the scan windows of the devices.
                    try await world.loop.sleep(for: .milliseconds(307))
                    try await host.succeed(HCICommands.WriteClassOfDevice(classOfDevice: UInt32(0x04_0400 + index)))
                    if index == 2 {
                        try await host.succeed(
                            HCICommands.WriteExtendedInquiryResponse(extendedInquiryResponse: Self.extended([3, 9, 0x41, 0x42])))
                    }
                    // The last device is connectable, but not discoverable.
                    try await host.succeed(HCICommands.WriteScanEnable(scanEnable: index == 4 ? 2 : 1))
                }
                try await inquirer.succeed(
                    HCICommands.WriteInquiryMode(inquiryMode: mode), HCICommands.Inquiry(lap: Self.general, inquiryLength: 8))
                try await inquirer.finishInquiry(in: world)
                let plain = inquirer.all(HCIEvents.InquiryResult.self).flatMap(\.responses)
                let strong = inquirer.all(HCIEvents.InquiryResultWithRSSI.self).flatMap(\.responses)
                let extended = inquirer.all(HCIEvents.ExtendedInquiryResult.self)
                #expect([plain.count, strong.count, extended.count] == [[3, 0, 0], [0, 3, 0], [0, 2, 1]][Int(mode)])
                let found =
                    plain.map { ($0.bdADDR, $0.classOfDevice, $0.pageScanRepetitionMode) }
                    + strong.map { ($0.bdADDR, $0.classOfDevice, $0.pageScanRepetitionMode) }
                    + extended.map { ($0.bdADDR, $0.classOfDevice, $0.pageScanRepetitionMode) }
                #expect(Set(found.map(\.0)) == Set((1...3).map { World.address($0).bdADDR }))
                for (address, classOfDevice, mode) in found {
                    #expect(classOfDevice == 0x04_0400 + UInt32(address.rawValue & 0xF))
                    #expect(mode == 1)
                }
                #expect(strong.allSatisfy { $0.rssi == -50 } && extended.allSatisfy { $0.rssi == -50 })
                #expect(
                    extended.allSatisfy {
                        $0.bdADDR == World.address(2).bdADDR && $0.extendedInquiryResponse.starts(with: [3, 9, 0x41, 0x42, 0])
                    })
            }
        }
    }

    /// A continuous scanner receives the train with its phase at once, the other one after 2.56 s.
    @Test(arguments: 1...12 as ClosedRange<UInt64>) func aScannerThatNeverStopsIsFoundInOneOfTwoTrains(_ seed: UInt64) throws {
        try Self.run(hosts: 2, seed: seed) { world in
            let (inquirer, scanner) = (world.hosts[0], world.hosts[1])
            try await scanner.succeed(
                HCICommands.WriteInquiryScanActivity(inquiryScanInterval: 0x1000, inquiryScanWindow: 0x1000),
                HCICommands.WriteScanEnable(scanEnable: 1))
            try await inquirer.succeed(HCICommands.Inquiry(lap: Self.general, inquiryLength: 48, numResponses: 1))
            let began = world.loop.now
            try await world.loop.sleep(for: .seconds(6))
            let time = (try #require(inquirer.log.last { $0.packet.bytes.first == 0x02 }).time - began).rawValue
            // A train takes 10 ms; the scanner's phase may leave it once meanwhile.
            #expect(
                time < 12_000 || (2_560_000..<2_572_000).contains(time) || (1_270_000..<1_300_000).contains(time)
                    || (3_830_000..<3_860_000).contains(time))
            #expect(inquirer.all(HCIEvents.InquiryComplete.self).count == 1)
        }
    }

    /// The FHS packet starts 625 us after the ID packet and takes 366 us; the extended response starts 1,250 us after it.
    @Test func anAnswerComesWhereTheSlotsPutIt() throws {
        func time(_ data: [UInt8]) throws -> (fromSlot: Int64, Microseconds) {
            try Self.run(hosts: 2, seed: 3) { world in
                let (inquirer, scanner) = (world.hosts[0], world.hosts[1])
                try await scanner.succeed(
                    HCICommands.WriteExtendedInquiryResponse(extendedInquiryResponse: Self.extended(data)),
                    HCICommands.WriteScanEnable(scanEnable: 1))
                try await inquirer.succeed(
                    HCICommands.WriteInquiryMode(inquiryMode: 2), HCICommands.Inquiry(lap: Self.general, inquiryLength: 8))
                try await inquirer.finishInquiry(in: world)
                let time = try #require(inquirer.log.first { [0x22, 0x2F].contains($0.packet.bytes[0]) }).time
                let clock = try #require(world.simulation.firstClock)
                // Relative to the half slot in which the FHS packet must have started.
                let start = clock.start(of: clock.tick(at: time - 366 - (data.isEmpty ? 0 : 1_250 + 158 - 366)))
                return ((time - start).rawValue, time)
            }
        }
        let (short, plain) = try time([])
        let (long, extended) = try time([1])
        #expect(short == 366)
        #expect(long == 1_250 + 158)
        #expect((extended - plain).rawValue == 1_250 + 158 - 366)
    }

    @Test func clockOffsetsOfTheTwoAreEachOthersNegative() throws {
        for seed: UInt64 in 1...6 {
            let offsets = try Self.run(hosts: 2, seed: seed) { world in
                var offsets: [Int] = []
                for (one, other) in [(world.hosts[0], world.hosts[1]), (world.hosts[1], world.hosts[0])] {
                    try await other.succeed(HCICommands.WriteScanEnable(scanEnable: 1))
                    try await one.succeed(HCICommands.Inquiry(lap: Self.general, inquiryLength: 8))
                    try await one.finishInquiry(in: world)
                    offsets.append(Int(try await one.next(HCIEvents.InquiryResult.self).responses[0].clockOffset))
                    try await other.succeed(HCICommands.WriteScanEnable(scanEnable: 0))
                }
                return offsets
            }
            #expect(offsets.allSatisfy { $0 < 0x8000 })
            // The slots of the two devices are not aligned.
            #expect([0, 1, 0x7FFF].contains((offsets[0] + offsets[1]) & 0x7FFF), "\(offsets)")
        }
    }

    @Test func anAccessCodeReachesThoseWhoListenForIt() throws {
        try Self.run(hosts: 4) { world in
            let listened: [[UInt32]] = [[Self.general], [Self.limited], [Self.general, Self.limited, 0x9E_8B01]]
            for (host, laps) in zip(world.hosts[1...], listened) {
                try await host.succeed(HCICommands.WriteCurrentIACLAP(iacLAP: laps), HCICommands.WriteScanEnable(scanEnable: 3))
                #expect(try await host.returns(HCICommands.ReadCurrentIACLAP()).iacLAP == Array(laps.prefix(2)))
            }
            for (lap, expected) in [(Self.general, [1, 3]), (Self.limited, [2, 3]), (0x9E_8B01, [])] {
                try await world.hosts[0].succeed(HCICommands.Inquiry(lap: lap, inquiryLength: 8))
                try await world.hosts[0].finishInquiry(in: world)
                let found = world.hosts[0].all(HCIEvents.InquiryResult.self).flatMap(\.responses).map(\.bdADDR)
                #expect(Set(found) == Set(expected.map { World.address($0).bdADDR }) && found.count == expected.count)
            }
        }
    }

    @Test func aCancelledInquiryIsNotHeardOfAgain() throws {
        try Self.run(hosts: 2) { world in
            let (inquirer, scanner) = (world.hosts[0], world.hosts[1])
            #expect(try await inquirer.run(HCICommands.InquiryCancel()) == .commandDisallowed)
            try await scanner.succeed(HCICommands.WriteScanEnable(scanEnable: 1))
            for isReset in [false, true] {
                try await inquirer.succeed(HCICommands.Inquiry(lap: Self.general, inquiryLength: 8))
                #expect(try await inquirer.raw(CommandTable.writeAddress, [1, 2, 3, 4, 5, 6]).status == .commandDisallowed)
                if isReset { try await inquirer.openMasks() } else { try await inquirer.succeed(HCICommands.InquiryCancel()) }
                let before = inquirer.log.count
                try await world.loop.sleep(for: .seconds(12))
                #expect(inquirer.log.count == before)
            }
        }
    }

    @Test func theNumberOfResponsesAndFiltersAreHeld() throws {
        try Self.run(hosts: 5) { world in
            let inquirer = world.hosts[0]
            for (index, host) in world.hosts.enumerated().dropFirst() {
                try await host.succeed(
                    HCICommands.WriteClassOfDevice(classOfDevice: index < 3 ? 0x24_0404 : 0x5A_020C),
                    HCICommands.WriteScanEnable(scanEnable: 1))
            }
            func find(_ count: UInt8 = 0) async throws -> Set<BDADDR> {
                try await inquirer.succeed(HCICommands.Inquiry(lap: Self.general, inquiryLength: 10, numResponses: count))
                try await inquirer.finishInquiry(in: world)
                return Set(inquirer.all(HCIEvents.InquiryResult.self).flatMap(\.responses).map(\.bdADDR))
            }
            let addresses = (0..<5).map { World.address($0).bdADDR }
            #expect(try await find(2).count == 2)
            try await inquirer.succeed(HCICommands.SetEventFilter(filterType: 1, filterCondition: [1, 0x00, 0x02, 0, 0x00, 0x1F, 0]))
            #expect(try await find() == Set(addresses[3...]))
            #expect(try await find(1).isSubset(of: addresses[3...]))
            let one = [2] + World.address(1).octets
            try await inquirer.succeed(HCICommands.SetEventFilter(filterType: 1, filterCondition: one))
            #expect(try await find() == Set([addresses[1], addresses[3], addresses[4]]))
            try await inquirer.succeed(HCICommands.SetEventFilter())
            #expect(try await find() == Set(addresses[1...]))
        }
    }

    @Test func whatIsTooWeakOrBrokenIsNotHeard() throws {
        try Self.run(hosts: 2) { world in
            let (inquirer, scanner) = (world.hosts[0], world.hosts[1])
            let controllers = world.simulation.controllers
            try await scanner.succeed(HCICommands.WriteScanEnable(scanEnable: 1))
            func count() async throws -> Int {
                try await inquirer.succeed(HCICommands.Inquiry(lap: Self.general, inquiryLength: 8))
                try await inquirer.finishInquiry(in: world)
                return inquirer.all(HCIEvents.InquiryResult.self).count
            }
            world.simulation.setPathLoss(105, from: controllers[0], to: controllers[1])
            #expect(try await count() == 0)
            // 10 dB more reach it.
            try await inquirer.succeed(HCICommands.WriteInquiryTransmitPowerLevel(txPower: 10))
            #expect(try await count() == 1)
            world.simulation.setLoss(corrupted: 1, from: controllers[1])
            #expect(try await count() == 0)
        }
    }

    /// Responses collide occasionally; the random back-off separates them.
    @Test func aCrowdIsFoundInTime() throws {
        try Self.run(hosts: 13) { world in
            for host in world.hosts[1...] {
                try await world.loop.sleep(for: .milliseconds(7))
                try await host.succeed(
                    HCICommands.WriteInquiryScanActivity(inquiryScanInterval: 0x0800, inquiryScanWindow: 0x0012),
                    HCICommands.WriteInquiryScanType(scanType: 1), HCICommands.WriteScanEnable(scanEnable: 1))
            }
            try await world.hosts[0].succeed(HCICommands.Inquiry(lap: Self.general, inquiryLength: 24))
            try await world.hosts[0].finishInquiry(in: world)
            let found = world.hosts[0].all(HCIEvents.InquiryResult.self).flatMap(\.responses).map(\.bdADDR)
            #expect(found.count == 12 && Set(found).count == 12, "\(found)")
        }
    }

    @Test func theSameSeedGivesTheSameInquiry() throws {
        func log(_ seed: UInt64) throws -> [String] {
            try Self.run(hosts: 4, seed: seed) { world in
                for host in world.hosts[1...] { try await host.succeed(HCICommands.WriteScanEnable(scanEnable: 1)) }
                try await world.hosts[0].succeed(HCICommands.Inquiry(lap: Self.general, inquiryLength: 8))
                try await world.hosts[0].finishInquiry(in: world)
                return world.hosts[0].log.map { "\($0.time.rawValue) \($0.packet.bytes)" }
            }
        }
        let first = try log(5)
        let (again, other) = (try log(5), try log(6))
        #expect(again == first)
        #expect(other != first)
    }
}

extension RawHost {
    /// Waits until the inquiry is over.
    fileprivate func finishInquiry(in world: World) async throws {
        for _ in 0..<700 {
            try await world.loop.sleep(for: .milliseconds(100))
            if let event = all(HCIEvents.InquiryComplete.self).first { return #expect(event.status == .success) }
        }
        Issue.record("the inquiry does not end")
    }
}

extension Simulation {
    /// The native clock of the first controller.
    fileprivate var firstClock: NativeClock? { controllers.first.flatMap { controller($0)?.bredr.clock } }
}
