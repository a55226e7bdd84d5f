import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import Testing

/// Extended advertising, scanning and connecting, as message sequences between hosts.
@Suite struct ExtendedTests {
    typealias Parameters = HCICommands.LESetExtendedAdvertisingParameters
    typealias Report = HCIEvents.LEExtendedAdvertisingReport.Report

    /// Power values in packets and events refer to the antenna. Core Vol 4, Part E, 7.8.76.
    @Test func powerIsToldAsItIsAtTheAntenna() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            func report() async throws -> HCIEvents.LEExtendedAdvertisingReport.Report {
                _ = scanner.all(HCIEvents.LEExtendedAdvertisingReport.self)
                return try #require(try await scanner.next(HCIEvents.LEExtendedAdvertisingReport.self).reports.first)
            }
            try await scanner.succeed(Self.scan([.le1M], type: .passive), HCICommands.LESetExtendedScanEnable(enable: 1))
            try await advertiser.succeed(Self.parameters(properties: 0x40, interval: 0x40))
            try await advertiser.enable([0])
            let plain = try await report()
            try await advertiser.succeed(
                HCICommands.LESetExtendedAdvertisingEnable(enable: 0),
                HCICommands.LEWriteRFPathCompensation(rfTXPathCompensationValue: -35), Self.parameters(properties: 0x40, interval: 0x40))
            try await advertiser.enable([0])
            try await scanner.succeed(HCICommands.LEWriteRFPathCompensation(rfRXPathCompensationValue: 100))
            let compensated = try await report()
            #expect(compensated.txPower == plain.txPower - 3 && compensated.rssi == plain.rssi - 10)
            let read = try await advertiser.returns(HCICommands.LEReadRFPathCompensation())
            #expect(read.rfTXPathCompensationValue == -35 && read.rfRXPathCompensationValue == 0)
        }
    }

    static func parameters(
        _ handle: UInt8 = 0, properties: UInt16, primary: PHY = .le1M, secondary: PHY = .le1M, interval: UInt32 = 0x200, sid: UInt8 = 5,
        notify: UInt8 = 0, policy: AdvertisingFilterPolicy = 0, peer: DeviceAddress? = nil
    ) -> Parameters {
        var parameters = Parameters()
        parameters.advertisingHandle = handle
        parameters.advertisingEventProperties = .init(rawValue: properties)
        parameters.primaryAdvertisingIntervalMin = interval
        parameters.primaryAdvertisingIntervalMax = interval
        parameters.primaryAdvertisingChannelMap = 7
        parameters.advertisingFilterPolicy = policy
        parameters.advertisingTXPower = 127
        parameters.primaryAdvertisingPHY = primary.rawValue
        parameters.secondaryAdvertisingPHY = secondary.rawValue
        parameters.advertisingSID = sid
        parameters.scanRequestNotificationEnable = notify
        if let peer {
            parameters.peerAddress = peer.bdADDR
            parameters.peerAddressType = .init(rawValue: peer.kind.rawValue)
        }
        return parameters
    }

    static func scan(_ phys: [PHY], type: LEScanType = .passive) -> HCICommands.LESetExtendedScanParameters {
        .init(
            scanningPHYs: .init(rawValue: phys.reduce(0) { $0 | $1.flag.rawValue }),
            phyParameters: phys.map { _ in .init(scanType: type, scanInterval: 0x40, scanWindow: 0x40) })
    }

    /// Reassembles fragments by the status bits of Event_Type.
    static func assemble(_ reports: [Report]) -> [(data: [UInt8], status: UInt16, last: Report)] {
        var done: [(data: [UInt8], status: UInt16, last: Report)] = []
        var open: [UInt8] = []
        for report in reports {
            open += report.data
            let status = report.eventType >> 5 & 3
            if status == 1 { continue }
            done.append((open, status, report))
            open = []
        }
        return done
    }

    struct Variant: CustomTestStringConvertible {
        var count: Int
        var primary = PHY.le1M
        var secondary = PHY.le1M
        var scannable = false
        var testDescription: String { "\(count) octets, \(primary) and \(secondary)\(scannable ? ", scannable" : "")" }
    }

    @Test(arguments: [
        Variant(count: 0), Variant(count: 31), Variant(count: 229), Variant(count: 230), Variant(count: 251),
        Variant(count: 251, secondary: .le2M), Variant(count: 251, primary: .leCoded, secondary: .leCoded), Variant(count: 1650),
        Variant(count: 1650, secondary: .le2M), Variant(count: 1650, primary: .leCoded, secondary: .leCoded),
        Variant(count: 1650, primary: .leCoded, secondary: .le2M), Variant(count: 31, scannable: true),
        Variant(count: 1650, scannable: true),
        Variant(count: 1650, primary: .leCoded, secondary: .leCoded, scannable: true),
    ])
    func dataArrivesWhole(_ variant: Variant) throws {
        let data = (0..<variant.count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await advertiser.succeed(
                Self.parameters(
                    properties: variant.scannable ? 2 : 0, primary: variant.primary, secondary: variant.secondary, interval: 0x400))
            try await advertiser.setData(data, isScanResponse: variant.scannable)
            try await advertiser.enable([0])
            try await scanner.succeed(
                Self.scan([variant.primary], type: variant.scannable ? .active : .passive),
                HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 1))
            try await world.loop.sleep(for: .seconds(4))
            let reports = scanner.all(HCIEvents.LEExtendedAdvertisingReport.self).flatMap(\.reports)
            let whole = Self.assemble(reports).filter { $0.status == 0 }
            #expect(whole.count == (variant.scannable ? 2 : 1))
            #expect(whole.last?.data == data)
            #expect(whole.last?.last.eventType == (variant.scannable ? 0x0A : 0))
            #expect(reports.allSatisfy { $0.data.count <= 229 && $0.advertisingSID == 5 && $0.address == World.address(0).bdADDR })
            #expect(reports.allSatisfy { $0.primaryPHY == variant.primary.rawValue && $0.secondaryPHY == variant.secondary.rawValue })
        }
    }

    @Test func newDataIsReportedAgainAndOldDataIsNot() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await advertiser.succeed(Self.parameters(properties: 0, interval: 0x40))
            try await advertiser.setData([2, 1, 6])
            try await advertiser.enable([0])
            try await scanner.succeed(Self.scan([.le1M]), HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 1))
            try await world.loop.sleep(for: .seconds(1))
            try await advertiser.setData([2, 1, 4])
            try await world.loop.sleep(for: .seconds(1))
            let reports = scanner.all(HCIEvents.LEExtendedAdvertisingReport.self).flatMap(\.reports)
            #expect(reports.map(\.data) == [[2, 1, 6], [2, 1, 4]])
        }
    }

    @Test func threeSetsOneOfThemAnonymousOneOnCodedAreHeardByOneScanner() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await advertiser.succeed(
                Self.parameters(0, properties: 0x20, interval: 0x100, sid: 1),
                Self.parameters(1, properties: 0x12, interval: 0x100, sid: 2),
                Self.parameters(2, properties: 0, primary: .leCoded, secondary: .leCoded, interval: 0x100, sid: 3))
            for handle: UInt8 in 0...2 { try await advertiser.setData([2, 1, handle], handle: handle) }
            try await advertiser.enable([0, 1, 2])
            try await scanner.succeed(
                Self.scan([.le1M, .leCoded]), HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 1))
            try await world.loop.sleep(for: .seconds(10))
            let reports = scanner.all(HCIEvents.LEExtendedAdvertisingReport.self).flatMap(\.reports)
            let byData = Dictionary(grouping: reports) { $0.data.last ?? 0xFF }.mapValues { $0[0] }
            #expect(reports.count == 3 && byData.count == 3)
            #expect(byData[0]?.addressType.rawValue == 0xFF && byData[0]?.advertisingSID == 1)
            #expect(byData[1]?.eventType == 0x12 && byData[1]?.advertisingSID == 0xFF && byData[1]?.secondaryPHY == 0)
            #expect(byData[2]?.primaryPHY == 3 && byData[2]?.advertisingSID == 3)
            #expect(try await advertiser.run(Self.parameters(3, properties: 0)) == .memoryCapacityExceeded)
        }
    }

    @Test(arguments: [(PHY.le1M, PHY.le1M), (.le1M, .le2M), (.leCoded, .leCoded), (.le1M, .leCoded)])
    func aConnectionBeginsOnTheSecondaryPHY(_ primary: PHY, _ secondary: PHY) throws {
        try World.run(hosts: 2) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await peripheral.succeed(Self.parameters(1, properties: 1, primary: primary, secondary: secondary, interval: 0x40))
            try await peripheral.enable([1])
            try await central.succeed(Self.create(World.address(0)))
            let atCentral: HCIEvents.LEEnhancedConnectionComplete = try await central.next(within: .seconds(5))
            let atPeripheral: HCIEvents.LEEnhancedConnectionComplete = try await peripheral.next()
            let terminated: HCIEvents.LEAdvertisingSetTerminated = try await peripheral.next()
            #expect(terminated.status == .success && terminated.advertisingHandle == 1)
            #expect(terminated.connectionHandle == atPeripheral.connectionHandle)
            let phy = try await central.returns(HCICommands.LEReadPHY(connectionHandle: atCentral.connectionHandle))
            #expect(phy.txPHY == secondary.rawValue && phy.rxPHY == secondary.rawValue)
            central.sendData(atCentral.connectionHandle, [1, 2, 3])
            #expect(try await peripheral.nextData().suffix(3) == [1, 2, 3])
        }
    }

    /// An initiator listens on LE 1M, and has parameters for that PHY only. Core Vol 4, Part E, 7.8.66.
    @Test(arguments: [PHY.le2M, .leCoded])
    func aConnectionBeginsOnAPHYWithoutParametersOfItsOwn(_ secondary: PHY) throws {
        try World.run(hosts: 2) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await peripheral.succeed(Self.parameters(1, properties: 1, secondary: secondary, interval: 0x40))
            try await peripheral.enable([1])
            var create = Self.create(World.address(0))
            create.initiatingPHYs = .le1M
            create.phyParameters = [create.phyParameters[0]]
            try await central.succeed(create)
            let connected: HCIEvents.LEEnhancedConnectionComplete = try await central.next(within: .seconds(5))
            #expect(connected.status == .success && connected.connectionInterval == 24)
            let phy = try await central.returns(HCICommands.LEReadPHY(connectionHandle: connected.connectionHandle))
            #expect(phy.txPHY == secondary.rawValue)
        }
    }

    static func create(_ peer: DeviceAddress?) -> HCICommands.LEExtendedCreateConnection {
        let row = HCICommands.LEExtendedCreateConnection.PHYParameter(
            scanInterval: 0x40, scanWindow: 0x40, connectionIntervalMin: 24, connectionIntervalMax: 24, supervisionTimeout: 100)
        return .init(
            initiatorFilterPolicy: peer == nil ? 1 : 0, peerAddress: peer?.bdADDR ?? 0, initiatingPHYs: 7, phyParameters: [row, row, row])
    }

    @Test(arguments: [(UInt16(50), UInt8(0), ErrorCode.advertisingTimeout), (0, 4, .limitReached)])
    func aSetEndsAfterItsDurationOrItsEvents(_ duration: UInt16, _ events: UInt8, _ status: ErrorCode) throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            try await host.succeed(Self.parameters(properties: 0, interval: 0x40))
            let start = world.loop.now
            try await host.enable([0], duration: duration, events: events)
            let event: HCIEvents.LEAdvertisingSetTerminated = try await host.next()
            #expect(event.status == status && event.advertisingHandle == 0)
            if events > 0 { #expect(event.numCompletedExtendedAdvertisingEvents == events) }
            if duration > 0 { #expect(abs((world.loop.now - start).milliseconds - 500) < 10) }
        }
    }

    @Test func scanRequestsAreToldWhereAskedFor() throws {
        try World.run(hosts: 2) { world in
            let (advertiser, scanner) = (world.hosts[0], world.hosts[1])
            try await advertiser.succeed(Self.parameters(properties: 2, interval: 0x40, notify: 1))
            try await advertiser.setData([2, 1, 6], isScanResponse: true)
            try await advertiser.enable([0])
            try await scanner.succeed(Self.scan([.le1M], type: .active), HCICommands.LESetExtendedScanEnable(enable: 1))
            let event: HCIEvents.LEScanRequestReceived = try await advertiser.next()
            #expect(event.advertisingHandle == 0 && event.scannerAddress == World.address(1).bdADDR)
        }
    }

    @Test func theScannersPolicyLetsOnlyTheListedPass() throws {
        try World.run(hosts: 3) { world in
            let scanner = world.hosts[2]
            for advertiser in world.hosts[..<2] {
                try await advertiser.succeed(Self.parameters(properties: 0, interval: 0x40))
                try await advertiser.setData([2, 1, 6])
                try await advertiser.enable([0])
            }
            var scan = Self.scan([.le1M])
            scan.scanningFilterPolicy = .basicFiltered
            try await scanner.succeed(
                HCICommands.LEAddDeviceToFilterAcceptList(address: World.address(1).bdADDR), scan,
                HCICommands.LESetExtendedScanEnable(enable: 1))
            try await world.loop.sleep(for: .seconds(1))
            let reports = scanner.all(HCIEvents.LEExtendedAdvertisingReport.self).flatMap(\.reports)
            #expect(reports.count > 5)
            #expect(reports.allSatisfy { $0.address == World.address(1).bdADDR })
            #expect(try await scanner.run(HCICommands.LEClearFilterAcceptList()) == .commandDisallowed)
        }
    }

    @Test func scanningEndsAfterItsDuration() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            let start = world.loop.now
            try await host.succeed(Self.scan([.le1M, .leCoded]), HCICommands.LESetExtendedScanEnable(enable: 1, duration: 30))
            let _: HCIEvents.LEScanTimeout = try await host.next()
            #expect(abs((world.loop.now - start).milliseconds - 300) < 2)
            try await host.succeed(Self.scan([.le1M]))
        }
    }

    @Test func sameSeedSameEvents() throws {
        func stream(_ seed: UInt64) throws -> [HCIPacket] {
            try World.run(hosts: 3, seed: seed) { world in
                for advertiser in world.hosts[..<2] {
                    try await advertiser.succeed(Self.parameters(properties: 2, interval: 0x40, notify: 1))
                    try await advertiser.setData([UInt8](repeating: 1, count: 300), isScanResponse: true)
                    try await advertiser.enable([0])
                }
                try await world.hosts[2].succeed(
                    Self.scan([.le1M, .leCoded], type: .active), HCICommands.LESetExtendedScanEnable(enable: 1))
                try await world.loop.sleep(for: .seconds(3))
                return world.hosts.flatMap { host in
                    host.log.map { HCIPacket($0.packet.kind, $0.packet.bytes + withUnsafeBytes(of: $0.time.rawValue) { [UInt8]($0) }) }
                }
            }
        }
        let first = try stream(7)
        #expect(first.count > 100)
        #expect(try stream(7) == first)
        #expect(try stream(8) != first)
    }
}

extension RawHost {
    /// Sets data in as many fragments as needed.
    func setData(_ data: [UInt8], handle: UInt8 = 0, isScanResponse: Bool = false) async throws {
        var rest = data[...]
        var isFirst = true
        repeat {
            let fragment = Array(rest.prefix(251))
            rest = rest.dropFirst(251)
            let operation: AdvertisingDataOperation = isFirst ? (rest.isEmpty ? .complete : .first) : (rest.isEmpty ? .last : .intermediate)
            isFirst = false
            if isScanResponse {
                try await succeed(
                    HCICommands.LESetExtendedScanResponseData(advertisingHandle: handle, operation: operation, scanResponseData: fragment))
            } else {
                try await succeed(
                    HCICommands.LESetExtendedAdvertisingData(advertisingHandle: handle, operation: operation, advertisingData: fragment))
            }
        } while !rest.isEmpty
    }

    func enable(_ handles: [UInt8], duration: UInt16 = 0, events: UInt8 = 0) async throws {
        try await succeed(
            HCICommands.LESetExtendedAdvertisingEnable(
                enable: 1, sets: handles.map { .init(advertisingHandle: $0, duration: duration, maxExtendedAdvertisingEvents: events) }))
    }
}
