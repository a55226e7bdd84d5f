import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import Testing

/// Controller behaviour that the specification leaves open: each choice has its effect.
@Suite struct ChoiceTests {
    static func template(_ change: (inout ControllerConfiguration) -> Void) -> ControllerConfiguration {
        var template = ControllerConfiguration(address: World.address(0))
        change(&template)
        return template
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout ControllerConfiguration) -> Void
        /// Commands that are removed, and commands that are kept.
        var gone: [UInt16]
        var left: [UInt16]
    }

    static let rows: [Row] = [
        Row(
            testDescription: "Core 4.0", change: { $0.limit(to: 6) },
            gone: [
                HCICommands.LESetPHY.opcode, HCICommands.LESetDataLength.opcode, HCICommands.LESetExtendedScanEnable.opcode,
                HCICommands.LEReadResolvingListSize.opcode, HCICommands.LEReadLocalP256PublicKey.opcode,
            ], left: [HCICommands.LESetAdvertisingEnable.opcode, HCICommands.LEReadRemoteFeatures.opcode]),
        Row(
            testDescription: "Core 4.2", change: { $0.limit(to: 8) }, gone: [HCICommands.LESetPHY.opcode],
            left: [HCICommands.LESetDataLength.opcode]),
        Row(
            testDescription: "no LE Coded", change: { $0.features.remove(.leCodedPHY) }, gone: [],
            left: [HCICommands.LESetPHY.opcode]),
        Row(
            testDescription: "neither PHY", change: { $0.features.subtract([.leCodedPHY, .le2MPHY]) },
            gone: [HCICommands.LESetPHY.opcode, HCICommands.LEReadPHY.opcode], left: [HCICommands.LESetDataLength.opcode]),
        Row(
            testDescription: "one optional command", change: { $0.choices.withoutCommands = [HCICommands.LEReadLocalP256PublicKey.opcode] },
            gone: [HCICommands.LEReadLocalP256PublicKey.opcode], left: [HCICommands.LEGenerateDHKey.opcode]),
    ]

    /// Core Vol 6, Part B, 4.6: the versions do not add their bits in order; 42 came after 43 and 44.
    @Test(
        "Each version has its features",
        arguments: [
            (6, 0x1), (8, 0xFF), (9, 0x1_FFFF), (10, 0xFFF_FFFF), (11, 0xF_FFFF_FFFF), (12, 0xFF_FFFF_FFFF), (13, 0x1BFF_FFFF_FFFF),
            (14, 0x8001_FFFF_FFFF_FFFF), (16, 0x8001_FFFF_FFFF_FFFF),
        ] as [(UInt8, UInt64)])
    func featuresOfVersions(_ version: UInt8, _ mask: UInt64) {
        let configuration = Self.template {
            $0.features = LEFeatures(rawValue: .max)
            $0.limit(to: version)
        }
        #expect(configuration.features.rawValue == mask)
    }

    @Test(arguments: rows)
    func commandsThatAreNotThereAreUnknownAndNotClaimed(_ row: Row) throws {
        try World.run(hosts: 1, template: Self.template(row.change)) { world in
            let host = world.hosts[0]
            let mask = try await host.returns(HCICommands.ReadLocalSupportedCommands()).supportedCommands
            for opcode in row.gone + row.left {
                let isGone = row.gone.contains(opcode)
                let answer = try await host.raw(opcode, [])
                #expect((answer.status == .unknownHCICommand) == isGone, "\(opcode)")
                let bit = PDUCatalog.command(opcode: opcode)?.supportedCommandsBit
                let isClaimed = bit.map { mask[Int($0.octet)] >> UInt8($0.bit) & 1 == 1 }
                #expect(isClaimed == !isGone, "\(opcode)")
            }
        }
    }

    /// Events of a connection on each side, for the choices of both.
    @Test func connectionsAreToldAndUsedAsChosen() throws {
        let template = Self.template {
            $0.choices.sendsConnectionCompleteV2 = true
            $0.choices.withoutEvents = ["LE_Channel_Selection_Algorithm"]
            $0.choices.usedOctets = 60
            $0.choices.firstHandle = 0x0E00
            $0.choices.usesShortestInterval = true
            $0.choices.channelMapPeriod = .milliseconds(200)
        }
        try World.run(hosts: 2, template: template) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await central.succeed(HCICommands.LESetEventMask(leEventMask: .init(rawValue: 0x1FF_FFFF_FFFF)))
            try await peripheral.advertiseLegacy()
            try await central.succeed(
                HCICommands.LECreateConnection(
                    leScanInterval: 0x10, leScanWindow: 0x10, peerAddress: World.address(0).bdADDR, connectionIntervalMin: 24,
                    connectionIntervalMax: 40, supervisionTimeout: 100))
            let event: HCIEvents.LEEnhancedConnectionCompleteV2 = try await central.next()
            #expect(event.connectionHandle.rawValue == 0x0E00 && event.connectionInterval == 24 && event.advertisingHandle == 0xFF)
            #expect(central.all(HCIEvents.LEEnhancedConnectionComplete.self).isEmpty)
            #expect(central.all(HCIEvents.LEChannelSelectionAlgorithm.self).isEmpty)
            try await central.succeed(HCICommands.LESetDataLength(connectionHandle: event.connectionHandle, txOctets: 251, txTime: 2120))
            let length: HCIEvents.LEDataLengthChange = try await central.next()
            #expect(length.maxTXOctets == 60)
            var maps: Set<UInt64> = []
            for _ in 0..<5 {
                maps.insert(try await central.returns(HCICommands.LEReadChannelMap(connectionHandle: event.connectionHandle)).channelMap)
                try await world.loop.sleep(for: .milliseconds(500))
            }
            #expect(maps.count > 2 && maps.allSatisfy { $0.nonzeroBitCount == 31 })
        }
    }

    @Test(arguments: [(1, Int8(0)), (4, 127)])
    func reportsComeSeveralInOneEvent(_ count: Int, _ rssi: Int8) throws {
        let template = Self.template {
            $0.choices.reportsPerEvent = count
            $0.choices.reportDelay = .milliseconds(500)
            $0.choices.withholdsRSSI = rssi == 127
            $0.choices.advertisingDelay = 0...0
        }
        try World.run(hosts: 2, template: template) { world in
            try await world.hosts[0].advertiseLegacy(.advNonconnInd)
            let scanner = world.hosts[1]
            // No advertising event meets the end of a scan window, where the scanner changes its channel.
            try await world.loop.sleep(for: .milliseconds(3))
            try await scanner.succeed(
                HCICommands.LESetScanParameters(leScanInterval: 0x10, leScanWindow: 0x10), HCICommands.LESetScanEnable(leScanEnable: 1))
            try await world.loop.sleep(for: .seconds(1))
            let events = scanner.all(HCIEvents.LEAdvertisingReport.self)
            #expect(events.allSatisfy { $0.reports.count == count } && events.count * count >= 40)
            #expect(events.flatMap(\.reports).allSatisfy { ($0.rssi == 127) == (rssi == 127) })
        }
    }

    @Test func buffersAreSharedAndReportedLate() throws {
        let template = Self.template {
            $0.choices.sharesBuffers = true
            $0.choices.creditDelay = .milliseconds(200)
            $0.choices.creditBatch = 100
        }
        try World.run(hosts: 2, template: template) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            let sizes = try await central.returns(HCICommands.LEReadBufferSize())
            #expect(sizes.leACLDataPacketLength == 0 && sizes.totalNumLEACLDataPackets == 0)
            try await peripheral.advertiseLegacy()
            try await central.createConnection(to: World.address(0))
            let event: HCIEvents.LEEnhancedConnectionComplete = try await central.next()
            try await world.loop.sleep(for: .milliseconds(100))
            let start = world.loop.now
            for _ in 0..<4 { central.sendData(event.connectionHandle, [1, 0, 4, 0, 0]) }
            let credits: HCIEvents.NumberOfCompletedPackets = try await central.next()
            #expect(world.loop.now - start > .milliseconds(200))
            #expect(credits.handles.map(\.numCompletedPackets) == [4])
        }
    }

    /// A peripheral and a central that stay on LE 1M whatever is requested.
    @Test(arguments: [0, 1])
    func aPHYIsDeclined(_ asking: Int) throws {
        try World.run(hosts: 2, template: Self.template { $0.choices.answeredPHYs = .le1M }) { world in
            try await world.hosts[0].advertiseLegacy()
            try await world.hosts[1].createConnection(to: World.address(0))
            let host = world.hosts[asking]
            let event: HCIEvents.LEEnhancedConnectionComplete = try await host.next()
            try await host.succeed(HCICommands.LESetPHY(connectionHandle: event.connectionHandle, txPHYs: .le2M, rxPHYs: .le2M))
            let update: HCIEvents.LEPHYUpdateComplete = try await host.next()
            #expect(update.status == .success && update.txPHY == 1 && update.rxPHY == 1)
        }
    }
}
