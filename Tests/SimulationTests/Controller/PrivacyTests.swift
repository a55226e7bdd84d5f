import BBBenchTesting
import BBBluetoothCrypto
import BBPackets
import BBSimulation
import BBTiming
import Testing

/// Private addresses generated and resolved by controllers. Core Vol 6, Part B, 6; Vol 4, Part E, 7.8.38 to 7.8.45.
@Suite struct PrivacyTests {
    static let keys: [UInt128] = [0x1111_2222_3333_4444_5555_6666_7777_8888, 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10]

    /// Adds each host's IRK to the other's resolving list, host 0 first.
    private func acquaint(_ world: World, peerKeys: [UInt128] = keys, localKeys: [UInt128] = keys) async throws {
        for (index, host) in world.hosts.prefix(2).enumerated() {
            try await host.succeed(
                HCICommands.LEAddDeviceToResolvingList(
                    peerIdentityAddress: World.address(1 - index).bdADDR, peerIRK: peerKeys[1 - index].littleEndianOctets,
                    localIRK: localKeys[index].littleEndianOctets),
                HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: 1))
        }
    }

    private func advertise(_ host: RawHost, _ type: LegacyAdvertisingType = .advInd, filter: UInt8 = 0)
        -> HCICommands.LESetAdvertisingParameters
    {
        HCICommands.LESetAdvertisingParameters(
            advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, advertisingType: type, ownAddressType: .resolvableOrPublic,
            peerAddress: World.address(1).bdADDR, advertisingChannelMap: 7, advertisingFilterPolicy: .init(rawValue: filter))
    }

    private func extended(properties: UInt16) -> HCICommands.LESetExtendedAdvertisingParameters {
        var parameters = ExtendedTests.parameters(1, properties: properties)
        parameters.ownAddressType = .resolvableOrPublic
        parameters.peerAddress = World.address(1).bdADDR
        return parameters
    }

    enum Way: CaseIterable { case undirected, directed, extended, extendedDirected, listed, highDuty }

    /// Events contain identity addresses and both private addresses, which the keys resolve.
    @Test(arguments: Way.allCases) func linksAreMadeBetweenIdentities(_ way: Way) throws {
        try World.run(hosts: 2) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await acquaint(world)
            let usesSets = way == .extended || way == .extendedDirected
            switch way {
            case .extended, .extendedDirected:
                try await peripheral.succeed(extended(properties: way == .extended ? 0x01 : 0x05))
                try await peripheral.enable([1])
                var create = ExtendedTests.create(World.address(0))
                create.ownAddressType = .resolvableOrPublic
                create.peerAddressType = .publicIdentity
                try await central.succeed(create)
            case .undirected, .directed, .listed, .highDuty:
                if way == .listed {
                    try await peripheral.succeed(HCICommands.LEAddDeviceToFilterAcceptList(address: World.address(1).bdADDR))
                    try await central.succeed(HCICommands.LEAddDeviceToFilterAcceptList(address: World.address(0).bdADDR))
                }
                let type: LegacyAdvertisingType =
                    way == .directed ? .advDirectIndLowDuty : way == .highDuty ? .advDirectIndHighDuty : .advInd
                try await peripheral.succeed(
                    advertise(peripheral, type, filter: way == .listed ? 3 : 0), HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
                try await central.succeed(
                    HCICommands.LECreateConnection(
                        leScanInterval: 0x10, leScanWindow: 0x10, initiatorFilterPolicy: way == .listed ? 1 : 0,
                        peerAddressType: .publicIdentity, peerAddress: World.address(0).bdADDR, ownAddressType: .resolvableOrPublic,
                        connectionIntervalMin: 24, connectionIntervalMax: 24, supervisionTimeout: 100))
            }
            let atCentral: HCIEvents.LEEnhancedConnectionComplete = try await central.next(within: .seconds(5))
            let atPeripheral: HCIEvents.LEEnhancedConnectionComplete = try await peripheral.next()
            if usesSets { _ = try await peripheral.next(HCIEvents.LEAdvertisingSetTerminated.self) }
            for (index, event) in [atPeripheral, atCentral].enumerated() {
                #expect(event.status == .success && event.peerAddressType == .publicIdentity)
                #expect(event.peerAddress == World.address(1 - index).bdADDR)
                let local = DeviceAddress(event.localResolvablePrivateAddress, kind: .random)
                let peer = DeviceAddress(event.peerResolvablePrivateAddress, kind: .random)
                #expect(local.resolves(with: Self.keys[index]) && peer.resolves(with: Self.keys[1 - index]))
                let other = World.address(1 - index).bdADDR
                let read = try await world.hosts[index].returns(HCICommands.LEReadPeerResolvableAddress(peerIdentityAddress: other))
                #expect(read.peerResolvableAddress == event.peerResolvablePrivateAddress)
                let own = try await world.hosts[index].returns(HCICommands.LEReadLocalResolvableAddress(peerIdentityAddress: other))
                #expect(own.localResolvableAddress == event.localResolvablePrivateAddress)
            }
        }
    }

    /// A scanner with the key reports the identity; another reports the address on the air, which changes after each timeout.
    @Test(arguments: [false, true]) func reportsTellWhatIsKnown(_ usesSets: Bool) throws {
        try World.run(hosts: 3) { world in
            try await acquaint(world)
            let advertiser = world.hosts[0]
            try await advertiser.succeed(HCICommands.LESetResolvablePrivateAddressTimeout(rpaTimeout: 1))
            for host in world.hosts[1...] {
                if usesSets {
                    try await host.succeed(
                        ExtendedTests.scan([.le1M]), HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 1))
                } else {
                    try await host.succeed(
                        HCICommands.LESetScanParameters(
                            leScanType: .active, leScanInterval: 0x10, leScanWindow: 0x10, ownAddressType: .resolvableOrPublic),
                        HCICommands.LESetScanEnable(leScanEnable: 1, filterDuplicates: 1))
                }
            }
            if usesSets {
                try await advertiser.succeed(extended(properties: 0))
                try await advertiser.enable([1])
            } else {
                try await advertiser.succeed(advertise(advertiser), HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
            }
            try await world.loop.sleep(for: .milliseconds(4_500))
            let heard = world.hosts.map { host in
                host.all(HCIEvents.LEAdvertisingReport.self).flatMap(\.reports).map { ($0.addressType, $0.address) }
                    + host.all(HCIEvents.LEExtendedAdvertisingReport.self).flatMap(\.reports).map { ($0.addressType, $0.address) }
            }
            #expect(heard[1].count == (usesSets ? 1 : 2))
            #expect(heard[1].allSatisfy { $0.0 == .publicIdentity && $0.1 == World.address(0).bdADDR })
            let addresses = Set(heard[2].map(\.1))
            #expect((4...6).contains(addresses.count))
            #expect(heard[2].allSatisfy { $0.0 == .randomDevice && DeviceAddress($0.1, kind: .random).resolves(with: Self.keys[0]) })
        }
    }

    /// With a range, each address has a random lifetime; before Core 6.1 there was one timeout for all. Core Vol 4, Part E, 7.8.45.
    @Test func aTimeOutIsDrawnFromItsRange() throws {
        var template = ControllerConfiguration(address: World.address(0))
        template.version = 0x0F
        try World.run(hosts: 3, template: template) { world in
            try await acquaint(world)
            let advertiser = world.hosts[0]
            for (range, isLegal) in [(0...1, false), (1...0x0E11, false), (1...3, true)] as [(ClosedRange<UInt16>, Bool)] {
                let command = HCICommands.LESetResolvablePrivateAddressTimeoutV2(
                    rpaTimeoutMin: range.lowerBound, rpaTimeoutMax: range.upperBound)
                #expect(try await advertiser.run(command) == (isLegal ? .success : .invalidHCICommandParameters))
            }
            let reversed = HCICommands.LESetResolvablePrivateAddressTimeoutV2(rpaTimeoutMin: 2, rpaTimeoutMax: 1)
            #expect(try await advertiser.run(reversed) == .invalidHCICommandParameters)
            let scanner = world.hosts[2]
            try await scanner.succeed(
                HCICommands.LESetScanParameters(leScanInterval: 0x10, leScanWindow: 0x10),
                HCICommands.LESetScanEnable(leScanEnable: 1, filterDuplicates: 1))
            try await advertiser.succeed(advertise(advertiser), HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
            try await world.loop.sleep(for: .seconds(60))
            let addresses = Set(scanner.all(HCIEvents.LEAdvertisingReport.self).flatMap(\.reports).map(\.address))
            #expect((23...45).contains(addresses.count), "\(addresses.count) addresses in a minute, of 1 s to 3 s each")
        }
        try World.run(hosts: 1) { world in
            let command = HCICommands.LESetResolvablePrivateAddressTimeoutV2(rpaTimeoutMin: 1, rpaTimeoutMax: 3)
            let status = try await world.hosts[0].run(command)
            #expect(status == .unknownHCICommand)
        }
    }

    /// Directed advertising to a private address: reported with an identity of this device, or as unresolved, even if the key belongs to
    /// the entry of another peer. Core Vol 4, Part E, 7.7.65.11 and 7.7.65.13.
    @Test(arguments: [false, true]) func directedReports(_ isExtended: Bool) throws {
        try World.run(hosts: 3) { world in
            try await acquaint(world)
            try await world.hosts[2].succeed(
                HCICommands.LEAddDeviceToResolvingList(
                    peerIdentityAddress: 0x0102_0304_0506, peerIRK: [UInt8](repeating: 7, count: 16),
                    localIRK: Self.keys[1].littleEndianOctets),
                HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: 1))
            try await world.hosts[0].succeed(
                advertise(world.hosts[0], .advDirectIndLowDuty), HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
            for host in world.hosts[1...] {
                var scan = ExtendedTests.scan([.le1M])
                scan.scanningFilterPolicy = .extendedUnfiltered
                if isExtended {
                    try await host.succeed(scan, HCICommands.LESetExtendedScanEnable(enable: 1))
                } else {
                    try await host.succeed(
                        HCICommands.LESetScanParameters(
                            leScanInterval: 0x10, leScanWindow: 0x10, scanningFilterPolicy: .extendedUnfiltered),
                        HCICommands.LESetScanEnable(leScanEnable: 1))
                }
            }
            try await world.loop.sleep(for: .milliseconds(500))
            if isExtended {
                let reports = world.hosts.map { $0.all(HCIEvents.LEExtendedAdvertisingReport.self).flatMap(\.reports) }
                #expect(reports[1].first?.addressType == .publicIdentity && reports[1].first?.directAddressType == .publicIdentity)
                #expect(reports[1].first?.directAddress == World.address(1).bdADDR)
                #expect(reports[2].first?.addressType == .randomDevice && reports[2].first?.directAddressType == .unresolvedRandom)
            } else {
                #expect(world.hosts[1].all(HCIEvents.LEAdvertisingReport.self).first?.reports.first?.eventType == 0x01)
                #expect(world.hosts[1].all(HCIEvents.LEDirectedAdvertisingReport.self).isEmpty)
                let direct = world.hosts[2].all(HCIEvents.LEDirectedAdvertisingReport.self).flatMap(\.reports)
                #expect(direct.first.map { DeviceAddress($0.directAddress, kind: .random).resolves(with: Self.keys[1]) } == true)
            }
        }
    }

    /// A peer with an IRK that uses its identity address is ignored in network privacy mode, and accepted in device privacy mode. Core Vol
    /// 6, Part B, 6. This is independent of address resolution being enabled.
    @Test(arguments: [PrivacyMode.network, .device], [false, true]) func privacyModes(_ mode: PrivacyMode, _ resolves: Bool) throws {
        try World.run(hosts: 2) { world in
            let scanner = world.hosts[1]
            try await acquaint(world)
            try await scanner.succeed(
                HCICommands.LESetPrivacyMode(peerIdentityAddress: World.address(0).bdADDR, privacyMode: mode),
                HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: resolves ? 1 : 0),
                HCICommands.LESetScanParameters(leScanInterval: 0x10, leScanWindow: 0x10), HCICommands.LESetScanEnable(leScanEnable: 1))
            try await world.hosts[0].advertiseLegacy()
            try await world.loop.sleep(for: .milliseconds(500))
            #expect(scanner.all(HCIEvents.LEAdvertisingReport.self).isEmpty == (mode == .network))
        }
    }

    /// Without a local IRK, the other own address is used. Core Vol 4, Part E, 7.8.5.
    @Test func withoutAKeyTheOtherAddressIsUsed() throws {
        try World.run(hosts: 2) { world in
            try await acquaint(world, localKeys: [0, 0])
            try await world.hosts[0].succeed(
                advertise(world.hosts[0]), HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
            try await world.hosts[1].succeed(
                HCICommands.LESetPrivacyMode(peerIdentityAddress: World.address(0).bdADDR, privacyMode: .device),
                HCICommands.LESetScanParameters(leScanInterval: 0x10, leScanWindow: 0x10), HCICommands.LESetScanEnable(leScanEnable: 1))
            let report: HCIEvents.LEAdvertisingReport = try await world.hosts[1].next()
            #expect(report.reports.first?.addressType == .publicDevice && report.reports.first?.address == World.address(0).bdADDR)
            var random = advertise(world.hosts[0])
            random.ownAddressType = .resolvableOrRandom
            try await world.hosts[0].succeed(HCICommands.LESetAdvertisingEnable(advertisingEnable: 0), random)
            #expect(try await world.hosts[0].run(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1)) == .invalidHCICommandParameters)
        }
    }

    @Test func theListHasRules() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            func entry(_ number: UInt64, irk: UInt128) -> HCICommands.LEAddDeviceToResolvingList {
                .init(
                    peerIdentityAddress: DeviceAddress(value: number).bdADDR, peerIRK: irk.littleEndianOctets,
                    localIRK: UInt128(0).littleEndianOctets)
            }
            let identities: [(type: AddressType, top: UInt64, status: ErrorCode)] = [
                (.randomDevice, 0x40, .invalidHCICommandParameters), (.randomDevice, 0x00, .invalidHCICommandParameters),
                (.randomDevice, 0xC0, .success), (.publicDevice, 0x40, .success),
            ]
            for identity in identities {
                var command = entry(identity.top << 40 | 7, irk: 70)
                command.peerIdentityAddressType = identity.type
                #expect(try await host.run(command) == identity.status, "\(identity.type) \(identity.top)")
                try await host.succeed(HCICommands.LEClearResolvingList())
            }
            let size = try await host.returns(HCICommands.LEReadResolvingListSize()).resolvingListSize
            for number in 1...UInt64(size) { try await host.succeed(entry(number, irk: UInt128(number))) }
            let unknown = DeviceAddress(value: 99).bdADDR
            #expect(try await host.run(entry(50, irk: 50)) == .memoryCapacityExceeded)
            #expect(try await host.run(entry(1, irk: 51)) == .invalidHCICommandParameters)
            #expect(try await host.run(entry(51, irk: 1)) == .invalidHCICommandParameters)
            #expect(
                try await host.run(HCICommands.LERemoveDeviceFromResolvingList(peerIdentityAddress: unknown))
                    == .unknownConnectionIdentifier)
            #expect(try await host.run(HCICommands.LESetPrivacyMode(peerIdentityAddress: unknown)) == .unknownConnectionIdentifier)
            #expect(
                try await host.run(HCICommands.LEReadPeerResolvableAddress(peerIdentityAddress: unknown)) == .unknownConnectionIdentifier)
            #expect(
                try await host.run(HCICommands.LEReadLocalResolvableAddress(peerIdentityAddress: unknown)) == .unknownConnectionIdentifier)
            for timeout: UInt16 in [0, 0x0E11] {
                let command = HCICommands.LESetResolvablePrivateAddressTimeout(rpaTimeout: timeout)
                #expect(try await host.run(command) == .invalidHCICommandParameters)
            }
            try await host.succeed(
                HCICommands.LERemoveDeviceFromResolvingList(peerIdentityAddress: DeviceAddress(value: 1).bdADDR), entry(50, irk: 0),
                HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: 1))
            try await host.advertiseLegacy()
            #expect(try await host.run(HCICommands.LEClearResolvingList()) == .commandDisallowed)
            #expect(try await host.run(entry(60, irk: 60)) == .commandDisallowed)
            #expect(try await host.run(HCICommands.LESetAddressResolutionEnable(addressResolutionEnable: 0)) == .commandDisallowed)
            try await host.succeed(
                HCICommands.LESetAdvertisingEnable(advertisingEnable: 0), HCICommands.LEClearResolvingList(), entry(1, irk: 1))
        }
    }
}
