import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import Testing

/// Legacy advertising, scanning and connecting, as message sequences between two hosts.
@Suite struct LegacyTests {
    @Test(arguments: [
        (LegacyAdvertisingType.advInd, UInt8(0), true), (.advScanInd, 2, true), (.advNonconnInd, 3, false),
    ])
    func anActiveScannerHearsDataAndScanResponse(_ type: LegacyAdvertisingType, _ reported: UInt8, _ isScannable: Bool) throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await advertiser.advertiseLegacy(type, data: [2, 1, 6], scanResponse: [3, 9, 0x41, 0x42])
            try await scanner.succeed(
                HCICommands.LESetScanParameters(leScanType: .active, leScanInterval: 0x10, leScanWindow: 0x10),
                HCICommands.LESetScanEnable(leScanEnable: 1, filterDuplicates: 1))
            try await world.loop.sleep(for: .milliseconds(500))
            let reports = scanner.all(HCIEvents.LEAdvertisingReport.self).flatMap(\.reports)
            #expect(reports.map(\.eventType.rawValue) == (isScannable ? [reported, 4] : [reported]))
            #expect(reports.allSatisfy { $0.address == World.address(0).bdADDR && $0.rssi == -50 })
            #expect(reports.map(\.data) == (isScannable ? [[2, 1, 6], [3, 9, 0x41, 0x42]] : [[2, 1, 6]]))
        }
    }

    @Test func twoHostsConnectExchangeDataAndDisconnect() throws {
        try World.run(hosts: 2) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await peripheral.advertiseLegacy()
            try await central.createConnection(to: World.address(0))
            let atCentral: HCIEvents.LEEnhancedConnectionComplete = try await central.next()
            let atPeripheral: HCIEvents.LEEnhancedConnectionComplete = try await peripheral.next()
            #expect(atCentral.status == .success && atPeripheral.status == .success)
            #expect(atCentral.role == .central && atPeripheral.role == .peripheral)
            #expect(atCentral.peerAddress == World.address(0).bdADDR && atPeripheral.peerAddress == World.address(1).bdADDR)
            #expect(atCentral.connectionInterval == 24 && atPeripheral.connectionInterval == 24)
            let algorithm: HCIEvents.LEChannelSelectionAlgorithm = try await peripheral.next()
            #expect(algorithm.channelSelectionAlgorithm == 1)

            central.sendData(atCentral.connectionHandle, [1, 2, 3, 4, 5])
            peripheral.sendData(atPeripheral.connectionHandle, [6, 7, 8, 9])
            let handle = atPeripheral.connectionHandle.rawValue | 0x2000
            #expect(try await peripheral.nextData() == [UInt8(handle & 0xFF), UInt8(handle >> 8), 5, 0, 1, 2, 3, 4, 5])
            #expect(try await central.nextData().suffix(4) == [6, 7, 8, 9])
            let completed: HCIEvents.NumberOfCompletedPackets = try await central.next()
            #expect(completed.handles.map(\.numCompletedPackets) == [1])

            try await central.succeed(
                HCICommands.Disconnect(connectionHandle: atCentral.connectionHandle, reason: .remoteUserTerminatedConnection))
            let left: HCIEvents.DisconnectionComplete = try await central.next()
            let ended: HCIEvents.DisconnectionComplete = try await peripheral.next()
            #expect(left.reason == .connectionTerminatedByLocalHost && ended.reason == .remoteUserTerminatedConnection)
        }
    }

    @Test func highDutyDirectedAdvertisingEndsAfter1280Milliseconds() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            let start = world.loop.now
            try await host.advertiseLegacy(.advDirectIndHighDuty)
            let event: HCIEvents.LEEnhancedConnectionComplete = try await host.next(within: .milliseconds(1_300))
            #expect(event.status == .advertisingTimeout && event.role == .peripheral)
            #expect(abs((world.loop.now - start).milliseconds - 1_280) < 5)
        }
    }

    @Test func aConnectionThatNobodyAnswersIsCancelled() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            #expect(try await host.run(HCICommands.LECreateConnectionCancel()) == .commandDisallowed)
            try await host.createConnection(to: World.address(7))
            try await world.loop.sleep(for: .milliseconds(100))
            try await host.succeed(HCICommands.LECreateConnectionCancel())
            let event: HCIEvents.LEEnhancedConnectionComplete = try await host.next()
            #expect(event.status == .unknownConnectionIdentifier && event.role == .central)
        }
    }
}
