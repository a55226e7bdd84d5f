import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import Testing

/// Controller behaviour outside individual procedures.
@Suite struct ControllerTests {
    @Test func maskedEventsDoNotCome() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await advertiser.advertiseLegacy()
            let scan = HCICommands.LESetScanParameters(leScanInterval: 0x10, leScanWindow: 0x10)
            let enable = HCICommands.LESetScanEnable(leScanEnable: 1)
            let masks: [(UInt64, UInt64, Bool)] = [
                (0x3FFF_FFFF_FFFF_FFFF, 0x02, true), (0x3FFF_FFFF_FFFF_FFFF, 0x3D, false), (0x1FFF_FFFF_FFFF, 0x02, false),
            ]
            for (page1, le, isHeard) in masks {
                try await scanner.succeed(
                    HCICommands.Reset(), HCICommands.SetEventMask(eventMask: .init(rawValue: page1)),
                    HCICommands.LESetEventMask(leEventMask: .init(rawValue: le)), scan, enable)
                _ = scanner.all(HCIEvents.LEAdvertisingReport.self)
                try await world.loop.sleep(for: .milliseconds(300))
                #expect(scanner.all(HCIEvents.LEAdvertisingReport.self).isEmpty != isHeard)
            }
        }
    }

    @Test func theConnectionIsToldInTheWordsThatAreNotMasked() throws {
        try World.run(hosts: 2) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await central.succeed(HCICommands.LESetEventMask(leEventMask: 0x01))
            try await peripheral.advertiseLegacy()
            try await central.createConnection(to: World.address(0))
            _ = try await central.next(HCIEvents.LEConnectionComplete.self)
            #expect(central.all(HCIEvents.LEEnhancedConnectionComplete.self).isEmpty)
            #expect(central.all(HCIEvents.LEChannelSelectionAlgorithm.self).isEmpty)
        }
    }

    /// Scan windows are effective: a scanner with a duty cycle of 1/50 receives about 1/50 of the packets.
    @Test func whatFallsOutsideTheWindowIsNotHeard() throws {
        func heard(window: UInt16) throws -> Int {
            try World.run(hosts: 2) { world in
                let scanner = world.hosts[1]
                try await world.hosts[0].advertiseLegacy(.advNonconnInd)
                try await scanner.succeed(
                    HCICommands.LESetScanParameters(leScanInterval: 0x640, leScanWindow: window),
                    HCICommands.LESetScanEnable(leScanEnable: 1))
                try await world.loop.sleep(for: .seconds(60))
                return scanner.all(HCIEvents.LEAdvertisingReport.self).count
            }
        }
        let all = try heard(window: 0x640)
        let few = try heard(window: 0x20)
        #expect(all > 2_200 && all < 2_500)
        #expect(few > all / 80 && few < all / 30)
    }

    @Test func anAdvertisersPolicyAnswersTheListedOnly() throws {
        try World.run(hosts: 3) { world in
            let advertiser = world.hosts[0]
            try await advertiser.succeed(
                HCICommands.LEAddDeviceToFilterAcceptList(address: World.address(1).bdADDR),
                HCICommands.LESetAdvertisingParameters(
                    advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, advertisingChannelMap: 7, advertisingFilterPolicy: 3),
                HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
            for scanner in world.hosts[1...] {
                try await scanner.succeed(
                    HCICommands.LESetScanParameters(leScanType: .active, leScanInterval: 0x10, leScanWindow: 0x10),
                    HCICommands.LESetScanEnable(leScanEnable: 1, filterDuplicates: 1))
            }
            try await world.loop.sleep(for: .seconds(1))
            let types = world.hosts[1...].map { $0.all(HCIEvents.LEAdvertisingReport.self).flatMap(\.reports).map(\.eventType.rawValue) }
            #expect(types == [[0, 4], [0]])
            try await world.hosts[2].succeed(HCICommands.LESetScanEnable(leScanEnable: 0))
            try await world.hosts[2].createConnection(to: World.address(0))
            // The initiator cannot know that its CONNECT_IND is ignored.
            let ended: HCIEvents.DisconnectionComplete = try await world.hosts[2].next()
            #expect(ended.reason == .connectionFailedToBeEstablished)
            #expect(advertiser.all(HCIEvents.LEEnhancedConnectionComplete.self).isEmpty)
        }
    }

    @Test func directedAdvertisingReachesItsTargetOnly() throws {
        try World.run(hosts: 3) { world in
            try await world.hosts[0].succeed(
                HCICommands.LESetAdvertisingParameters(
                    advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, advertisingType: .advDirectIndLowDuty,
                    peerAddress: World.address(2).bdADDR, advertisingChannelMap: 7),
                HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
            for central in world.hosts[1...] { try await central.createConnection(to: World.address(0)) }
            let event: HCIEvents.LEEnhancedConnectionComplete = try await world.hosts[2].next()
            #expect(event.status == .success)
            try await world.loop.sleep(for: .seconds(1))
            #expect(world.hosts[1].all(HCIEvents.LEEnhancedConnectionComplete.self).isEmpty)
        }
    }

    /// Directed advertising to any resolvable private address passes with the extended filter policies. Core Vol 6, Part B, 4.3.3.
    @Test(arguments: [false, true]) func resolvableTargetsPassTheExtendedPolicies(_ isExtended: Bool) throws {
        let target = DeviceAddress(value: 0x4112_2334_4556, kind: .random)
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await advertiser.succeed(
                HCICommands.LESetAdvertisingParameters(
                    advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, advertisingType: .advDirectIndLowDuty,
                    peerAddressType: .randomDevice, peerAddress: target.bdADDR, advertisingChannelMap: 7),
                HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
            for policy: ScanningFilterPolicy in [.basicUnfiltered, .extendedUnfiltered] {
                try await scanner.openMasks()
                if isExtended {
                    var scan = ExtendedTests.scan([.le1M])
                    scan.scanningFilterPolicy = policy
                    try await scanner.succeed(scan, HCICommands.LESetExtendedScanEnable(enable: 1))
                } else {
                    try await scanner.succeed(
                        HCICommands.LESetScanParameters(leScanInterval: 0x10, leScanWindow: 0x10, scanningFilterPolicy: policy),
                        HCICommands.LESetScanEnable(leScanEnable: 1))
                }
                try await world.loop.sleep(for: .milliseconds(300))
                let isPassed = policy == .extendedUnfiltered
                let legacy = scanner.all(HCIEvents.LEDirectedAdvertisingReport.self).flatMap(\.reports)
                let extended = scanner.all(HCIEvents.LEExtendedAdvertisingReport.self).flatMap(\.reports)
                #expect(legacy.isEmpty == (isExtended || !isPassed) && extended.isEmpty == (!isExtended || !isPassed))
                #expect(legacy.allSatisfy { $0.directAddress == target.bdADDR && $0.address == World.address(0).bdADDR })
                #expect(
                    extended.allSatisfy {
                        $0.directAddress == target.bdADDR && $0.directAddressType.rawValue == 0xFE && $0.eventType == 0x15
                    })
            }
        }
    }

    @Test func thePowerOfASetIsHeard() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            for (handle, power): (UInt8, Int8) in [(0, -20), (1, 127), (2, 10)] {
                var parameters = ExtendedTests.parameters(handle, properties: 0x40, interval: 0x40)
                parameters.advertisingTXPower = power
                try await advertiser.succeed(parameters)
                try await advertiser.setData([2, 1, handle], handle: handle)
            }
            try await advertiser.enable([0, 1, 2])
            try await scanner.succeed(ExtendedTests.scan([.le1M]), HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 1))
            try await world.loop.sleep(for: .seconds(2))
            let reports = scanner.all(HCIEvents.LEExtendedAdvertisingReport.self).flatMap(\.reports)
            let byHandle = Dictionary(grouping: reports) { $0.data.last ?? 0xFF }.mapValues { [$0[0].txPower, $0[0].rssi] }
            #expect(byHandle == [0: [-20, -70], 1: [0, -50], 2: [10, -40]])
        }
    }

    @Test(arguments: [UInt8(1), 2, 3, 4]) func directTestModeCountsWhatItSends(_ phy: UInt8) throws {
        try World.run(hosts: 2) { world in
            let (transmitter, receiver) = (world.hosts[0], world.hosts[1])
            #expect(try await receiver.run(HCICommands.LETestEnd()) == .commandDisallowed)
            try await receiver.succeed(HCICommands.LEReceiverTestV2(rxChannel: 12, phy: min(phy, 3)))
            try await transmitter.succeed(HCICommands.LETransmitterTestV2(txChannel: 12, testDataLength: 37, phy: phy))
            #expect(try await transmitter.run(HCICommands.LETransmitterTest()) == .commandDisallowed)
            try await world.loop.sleep(for: .seconds(1))
            #expect(try await transmitter.returns(HCICommands.LETestEnd()).numPackets == 0)
            let count = Int(try await receiver.returns(HCICommands.LETestEnd()).numPackets)
            // Durations of 376, 192, 3088 and 1054 us plus 249 us, rounded up to slots.
            let slots = [1, 1, 6, 3][Int(phy - 1)]
            #expect(abs(count - 1_000_000 / (625 * slots)) <= 2)
        }
    }

    /// A test is a state of its own: no activity of the link layer begins in it. Core Vol 6, Part B, 1.1.
    @Test(arguments: [false, true]) func aTestExcludesOtherActivities(isExtended: Bool) throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            func begin() async throws -> [ErrorCode] {
                if isExtended {
                    return [
                        try await host.run(HCICommands.LESetExtendedAdvertisingEnable(enable: 1, sets: [.init(advertisingHandle: 0)])),
                        try await host.run(HCICommands.LESetExtendedScanEnable(enable: 1)),
                        try await host.run(
                            HCICommands.LEExtendedCreateConnection(
                                peerAddress: 5, initiatingPHYs: .le1M,
                                phyParameters: [
                                    .init(
                                        scanInterval: 16, scanWindow: 16, connectionIntervalMin: 24, connectionIntervalMax: 24,
                                        supervisionTimeout: 100)
                                ])),
                    ]
                }
                return [
                    try await host.run(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1)),
                    try await host.run(HCICommands.LESetScanEnable(leScanEnable: 1)),
                    try await host.run(
                        HCICommands.LECreateConnection(
                            leScanInterval: 16, leScanWindow: 16, peerAddress: 5, connectionIntervalMin: 24, connectionIntervalMax: 24,
                            supervisionTimeout: 100)),
                ]
            }
            if isExtended { try await host.succeed(ExtendedTests.parameters(properties: 0x13, interval: 0x40)) }
            for test in [HCICommands.LETransmitterTest().parameters, nil] {
                if let test {
                    #expect(try await host.raw(HCICommands.LETransmitterTest.opcode, test).status == .success)
                } else {
                    try await host.succeed(HCICommands.LEReceiverTest(rxChannel: 3))
                }
                #expect(try await begin() == [.commandDisallowed, .commandDisallowed, .commandDisallowed])
                _ = try await host.returns(HCICommands.LETestEnd())
            }
            #expect(try await begin() == [.success, .success, .success])
        }
    }

    @Test func randomAddressesAreUsedOnTheAir() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            var parameters = ExtendedTests.parameters(properties: 0, interval: 0x40)
            parameters.ownAddressType = 1
            try await advertiser.succeed(
                parameters, HCICommands.LESetAdvertisingSetRandomAddress(randomAddress: 0xC123_4567_89AB))
            try await advertiser.setData([2, 1, 6])
            try await advertiser.enable([0])
            try await scanner.succeed(ExtendedTests.scan([.le1M]), HCICommands.LESetExtendedScanEnable(enable: 1))
            let report = try await scanner.next(HCIEvents.LEExtendedAdvertisingReport.self).reports[0]
            #expect(report.address == 0xC123_4567_89AB && report.addressType.rawValue == 1)
        }
    }

    @Test func commandsTakeTheirTimeAndTheirPlaces() throws {
        var template = ControllerConfiguration(address: World.address(0))
        template.commandPackets = 3
        template.commandLatency = 100...100
        try World.run(hosts: 1, template: template) { world in
            let host = world.hosts[0]
            let before = host.log.count
            for _ in 0..<3 { host.transport.send(HCIPacket(command: HCICommands.ReadBDADDR())) }
            try await world.loop.sleep(for: .milliseconds(1))
            let answers = host.log[before...].compactMap { RawHost.Answer($0.packet)?.credits }
            #expect(answers == [1, 2, 3])
            let times = host.log[before...].map { $0.time.rawValue }
            #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 == 100 })
        }
    }

    /// FIPS 197, appendix C.1, with the octets in HCI's order.
    @Test func encryptionIsAES() throws {
        try World.run(hosts: 1) { world in
            let key: [UInt8] = (0..<16).reversed().map { UInt8($0) }
            let text: [UInt8] = (0..<16).reversed().map { UInt8($0 * 0x11) }
            let cipher = try await world.hosts[0].returns(HCICommands.LEEncrypt(key: key, plaintextData: text)).encryptedData
            #expect(
                Array(cipher.reversed()) == [
                    0x69, 0xC4, 0xE0, 0xD8, 0x6A, 0x7B, 0x04, 0x30, 0xD8, 0xCD, 0xB7, 0x80, 0x70, 0xB4, 0xC5, 0x5A,
                ])
        }
    }

    @Test func twoControllersAgreeOnADHKeyAndRefuseAPointOffTheCurve() throws {
        try World.run(hosts: 2) { world in
            var keys: [[UInt8]] = []
            for host in world.hosts {
                try await host.succeed(HCICommands.LEReadLocalP256PublicKey())
                keys.append(try await host.next(HCIEvents.LEReadLocalP256PublicKeyComplete.self).localP256PublicKey)
            }
            #expect(keys[0] != keys[1])
            var secrets: [[UInt8]] = []
            for (index, host) in world.hosts.enumerated() {
                try await host.succeed(HCICommands.LEGenerateDHKey(remoteP256PublicKey: keys[1 - index]))
                let event: HCIEvents.LEGenerateDHKeyComplete = try await host.next()
                #expect(event.status == .success)
                secrets.append(event.dhKey)
            }
            #expect(secrets[0] == secrets[1])
            try await world.hosts[0].succeed(HCICommands.LEGenerateDHKey(remoteP256PublicKey: [UInt8](repeating: 3, count: 64)))
            let refused: HCIEvents.LEGenerateDHKeyComplete = try await world.hosts[0].next()
            #expect(refused.status != .success && refused.dhKey.allSatisfy { $0 == 0xFF })
        }
    }

    @Test func theAddressCanBeWrittenWhileNothingIsUnderWay() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            #expect(try await host.raw(0xFC06, [1, 2, 3, 4, 5, 6]).status == .success)
            #expect(try await host.raw(0xFC06, [1, 2, 3]).status == .invalidHCICommandParameters)
            try await host.succeed(HCICommands.Reset())
            #expect(try await host.returns(HCICommands.ReadBDADDR()).bdADDR == 0x0605_0403_0201)
            try await host.advertiseLegacy()
            #expect(try await host.raw(0xFC06, [1, 2, 3, 4, 5, 6]).status == .commandDisallowed)
        }
    }

    @Test func aPipeThatClosesTakesItsControllerAway() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await advertiser.advertiseLegacy()
            try await scanner.succeed(
                HCICommands.LESetScanParameters(leScanInterval: 0x10, leScanWindow: 0x10), HCICommands.LESetScanEnable(leScanEnable: 1))
            try await world.loop.sleep(for: .milliseconds(200))
            advertiser.transport.close()
            try await world.loop.sleep(for: .milliseconds(10))
            #expect(!scanner.all(HCIEvents.LEAdvertisingReport.self).isEmpty)
            try await world.loop.sleep(for: .seconds(1))
            #expect(scanner.all(HCIEvents.LEAdvertisingReport.self).isEmpty)
            #expect(world.simulation.controllers.count == 1)
        }
    }
}
