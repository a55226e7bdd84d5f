import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import Testing

/// The status with which each command is refused. Core Vol 4, Part E, 7.8, and Vol 1, Part F.
@Suite struct StatusRuleTests {
    /// Preparing commands, and the command under test.
    struct Rule: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var expected: ErrorCode
        var before: [HCIPacket]
        var command: HCIPacket
    }

    static func rule<Command: HCICommand>(
        _ expected: ErrorCode, _ command: Command, after before: [HCIPacket] = [], _ text: String,
        _ change: (inout Command) -> Void = { _ in }
    ) -> Rule {
        var changed = command
        change(&changed)
        return Rule(testDescription: "\(Command.name): \(text)", expected: expected, before: before, command: HCIPacket(command: changed))
    }

    static let invalid = ErrorCode.invalidHCICommandParameters
    static let unsupported = ErrorCode.unsupportedFeatureOrParameterValue
    static let disallowed = ErrorCode.commandDisallowed

    // MARK: Legal commands

    static let legacy = HCICommands.LESetAdvertisingParameters(
        advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x40, advertisingChannelMap: 7)
    static let legacyOn = HCIPacket(command: HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
    static let set = ExtendedTests.parameters(properties: 0)
    static let scan = HCICommands.LESetScanParameters(leScanInterval: 0x10, leScanWindow: 0x10)
    static let extendedScan = ExtendedTests.scan([.le1M, .leCoded])
    static let create = HCICommands.LECreateConnection(
        leScanInterval: 0x10, leScanWindow: 0x10, connectionIntervalMin: 24, connectionIntervalMax: 24, supervisionTimeout: 100)
    static let extendedCreate = ExtendedTests.create(World.address(9))
    static let scanOn = HCIPacket(command: HCICommands.LESetScanEnable(leScanEnable: 1))

    static func setPacket(_ properties: UInt16, _ handle: UInt8 = 0, interval: UInt32 = 0x200, secondary: PHY = .le1M) -> HCIPacket {
        HCIPacket(command: ExtendedTests.parameters(handle, properties: properties, secondary: secondary, interval: interval))
    }

    /// 20...100 ms on LE Coded.
    static var widePacket: HCIPacket {
        var parameters = ExtendedTests.parameters(properties: 0, secondary: .leCoded, interval: 0x20)
        parameters.primaryAdvertisingIntervalMax = 0xA0
        return HCIPacket(command: parameters)
    }

    static func data(_ operation: AdvertisingDataOperation, _ count: Int, response: Bool = false) -> HCIPacket {
        let bytes = [UInt8](repeating: 0, count: count)
        return response
            ? HCIPacket(command: HCICommands.LESetExtendedScanResponseData(operation: operation, scanResponseData: bytes))
            : HCIPacket(command: HCICommands.LESetExtendedAdvertisingData(operation: operation, advertisingData: bytes))
    }

    static func enable(_ handles: [UInt8] = [0], on: UInt8 = 1, duration: UInt16 = 0) -> HCICommands.LESetExtendedAdvertisingEnable {
        .init(enable: on, sets: handles.map { .init(advertisingHandle: $0, duration: duration) })
    }

    // MARK: Rules

    /// Bit_Number of features that the host controls, and of one that it does not. Core Vol 4, Part E, 7.8.115.
    static let hostFeatures: [Rule] =
        [32, 38, 41, 47].map { bit in
            rule(unsupported, HCICommands.LESetHostFeature(bitNumber: bit, bitValue: 1), "bit \(bit) of a feature that is absent")
        } + [
            rule(.success, HCICommands.LESetHostFeature(bitNumber: 32, bitValue: 0), "a bit that is clear"),
            rule(unsupported, HCICommands.LESetHostFeature(bitNumber: 0, bitValue: 0), "a bit of the controller's"),
        ]

    static let advertising: [Rule] = [
        rule(.success, legacy, "legal"),
        rule(invalid, legacy, "interval below the range") { $0.advertisingIntervalMin = 0x1F },
        rule(invalid, legacy, "interval above the range") { $0.advertisingIntervalMax = 0x4001 },
        rule(invalid, legacy, "minimum above maximum") { $0.advertisingIntervalMin = 0x41 },
        rule(invalid, legacy, "type out of range") { $0.advertisingType = 5 },
        rule(invalid, legacy, "own address type out of range") { $0.ownAddressType = 4 },
        rule(invalid, legacy, "peer address type out of range") { $0.peerAddressType = 2 },
        rule(invalid, legacy, "no channel") { $0.advertisingChannelMap = 0 },
        rule(invalid, legacy, "channels out of range") { $0.advertisingChannelMap = 8 },
        rule(invalid, legacy, "filter policy out of range") { $0.advertisingFilterPolicy = 4 },
        rule(disallowed, legacy, after: [legacyOn], "while advertising"),
        rule(invalid, HCICommands.LESetAdvertisingData(advertisingDataLength: 32, advertisingData: []), "length out of range"),
        rule(invalid, HCICommands.LESetScanResponseData(scanResponseDataLength: 32, scanResponseData: []), "length out of range"),
        rule(invalid, HCICommands.LESetAdvertisingEnable(advertisingEnable: 2), "out of range"),
        rule(
            invalid, HCICommands.LESetAdvertisingEnable(advertisingEnable: 1),
            after: [
                HCIPacket(
                    command: HCICommands.LESetAdvertisingParameters(
                        advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, ownAddressType: 1, advertisingChannelMap: 7))
            ], "no random address"),
        rule(disallowed, HCICommands.LESetRandomAddress(randomAddress: 0xC000_0000_0001), after: [legacyOn], "while advertising"),
        rule(disallowed, HCICommands.LESetRandomAddress(randomAddress: 0xC000_0000_0001), after: [scanOn], "while scanning"),
        rule(disallowed, set, after: [HCIPacket(command: legacy)], "after a legacy command"),
        rule(disallowed, legacy, after: [HCIPacket(command: set)], "after an extended command"),
        rule(disallowed, extendedScan, after: [HCIPacket(command: scan)], "after a legacy command"),
        rule(disallowed, create, after: [HCIPacket(command: extendedScan)], "after an extended command"),
        rule(.success, legacy, after: [HCIPacket(command: set), HCIPacket(command: HCICommands.Reset())], "after a reset"),
    ]

    static let sets: [Rule] = [
        rule(.success, set, "legal"),
        rule(invalid, set, "handle out of range") { $0.advertisingHandle = 0xF0 },
        rule(unsupported, set, "reserved properties") { $0.advertisingEventProperties = 0x8000 },
        rule(invalid, set, "connectable and scannable") { $0.advertisingEventProperties = 0x03 },
        rule(invalid, set, "high duty without legacy") { $0.advertisingEventProperties = 0x0D },
        rule(invalid, set, "anonymous and connectable") { $0.advertisingEventProperties = 0x21 },
        rule(invalid, set, "legacy combination that does not exist") { $0.advertisingEventProperties = 0x11 },
        rule(.success, set, "legacy scannable") { $0.advertisingEventProperties = 0x12 },
        rule(invalid, set, "interval below the range") { $0.primaryAdvertisingIntervalMin = 0x1F },
        rule(invalid, set, "minimum above maximum") { $0.primaryAdvertisingIntervalMin = 0x201 },
        rule(invalid, set, "no channel") { $0.primaryAdvertisingChannelMap = 0 },
        rule(invalid, set, "2M on the primary channels") { $0.primaryAdvertisingPHY = 2 },
        rule(invalid, set, "secondary PHY out of range") { $0.secondaryAdvertisingPHY = 4 },
        rule(invalid, set, "legacy on Coded") {
            $0.advertisingEventProperties = 0x10
            $0.primaryAdvertisingPHY = 3
        },
        rule(invalid, set, "SID out of range") { $0.advertisingSID = 16 },
        rule(invalid, set, "notification out of range") { $0.scanRequestNotificationEnable = 2 },
        rule(invalid, set, "TX power out of range") { $0.advertisingTXPower = 21 },
        rule(disallowed, set, after: [HCIPacket(command: set), HCIPacket(command: enable())], "while advertising"),
        rule(
            .memoryCapacityExceeded, ExtendedTests.parameters(3, properties: 0),
            after: [setPacket(0, 0), setPacket(0, 1), setPacket(0, 2)], "a fourth set"),
        rule(.unknownAdvertisingIdentifier, enable([1]), after: [setPacket(0)], "no such set"),
        rule(invalid, enable([]), "no set to enable"),
        rule(.success, enable([], on: 0), "all sets off"),
        rule(invalid, enable([0, 0]), after: [setPacket(0)], "a set twice"),
        rule(disallowed, enable(), after: [setPacket(2)], "scannable without scan response data"),
        rule(disallowed, enable(), after: [setPacket(0), data(.first, 10)], "data not complete"),
        rule(invalid, enable(), after: [setPacket(0x1D)], "high duty without duration"),
        rule(invalid, enable(duration: 129), after: [setPacket(0x1D)], "high duty for more than 1.28 s"),
        rule(.success, enable(duration: 128), after: [setPacket(0x1D)], "high duty for 1.28 s"),
        rule(disallowed, HCICommands.LERemoveAdvertisingSet(), after: [setPacket(0), HCIPacket(command: enable())], "while advertising"),
        rule(disallowed, HCICommands.LEClearAdvertisingSets(), after: [setPacket(0), HCIPacket(command: enable())], "while advertising"),
        rule(.unknownAdvertisingIdentifier, HCICommands.LERemoveAdvertisingSet(), "no such set"),
    ]

    private static func dataRule(_ expected: ErrorCode, _ packet: HCIPacket, after: [HCIPacket], _ text: String) -> Rule {
        Rule(testDescription: "LE_Set_Extended_..._Data: \(text)", expected: expected, before: after, command: packet)
    }

    static let advertisingData: [Rule] = [
        dataRule(.success, data(.complete, 251), after: [setPacket(0)], "legal"),
        dataRule(.unknownAdvertisingIdentifier, data(.complete, 1), after: [], "no such set"),
        dataRule(invalid, data(5, 1), after: [setPacket(0)], "operation out of range"),
        dataRule(invalid, data(.first, 0), after: [setPacket(0)], "empty fragment"),
        dataRule(invalid, data(.last, 5), after: [setPacket(0)], "last without first"),
        dataRule(invalid, data(.complete, 1), after: [setPacket(2)], "advertising data of a scannable set"),
        dataRule(invalid, data(.complete, 1, response: true), after: [setPacket(0)], "scan response of a set that is not scannable"),
        dataRule(invalid, data(.complete, 32), after: [setPacket(0x13)], "more than 31 octets in legacy PDUs"),
        dataRule(invalid, data(.first, 5), after: [setPacket(0x13)], "fragments in legacy PDUs"),
        dataRule(invalid, data(.unchanged, 0), after: [setPacket(0), data(.complete, 3)], "unchanged while disabled"),
        dataRule(
            disallowed, data(.first, 5), after: [setPacket(0), HCIPacket(command: enable())], "fragments while enabled"),
        dataRule(.packetTooLong, data(.complete, 251), after: [setPacket(1)], "more than one packet in a connectable set"),
        // Three ADV_EXT_IND of 136 us, 17,340 us from the first AUX packet to the second, and the second: 19,914 us. Ten octets more take
        // 640 us more. Core Vol 4, Part E, 7.8.54.
        dataRule(.success, data(.complete, 251), after: [setPacket(0, interval: 0x20, secondary: .leCoded)], "just within the interval"),
        dataRule(
            .packetTooLong, data(.last, 10), after: [setPacket(0, interval: 0x20, secondary: .leCoded), data(.first, 251)],
            "longer than the interval"),
        dataRule(.success, data(.complete, 6), after: [setPacket(0, interval: 0x20, secondary: .leCoded)], "a few octets on LE Coded"),
        dataRule(
            .success, data(.last, 144),
            after: [setPacket(0, interval: 0x20), data(.first, 251)] + (0..<5).map { _ in data(.intermediate, 251) },
            "1650 octets on LE 1M at 20 ms"),
        dataRule(
            .success, data(.last, 200), after: [widePacket, data(.first, 251)], "within the longest interval, though not the shortest"),
        dataRule(
            .memoryCapacityExceeded, data(.last, 251),
            after: [setPacket(0, interval: 0x2000), data(.first, 251)] + (0..<5).map { _ in data(.intermediate, 251) },
            "more than 1650 octets"),
    ]

    static let scanningAndInitiating: [Rule] = [
        rule(.success, scan, "legal"),
        rule(invalid, scan, "interval below the range") { $0.leScanInterval = 3 },
        rule(invalid, scan, "window above interval") { $0.leScanWindow = 0x11 },
        rule(invalid, scan, "type out of range") { $0.leScanType = 2 },
        rule(invalid, scan, "filter policy out of range") { $0.scanningFilterPolicy = 4 },
        rule(disallowed, scan, after: [scanOn], "while scanning"),
        rule(invalid, HCICommands.LESetScanEnable(leScanEnable: 2), "out of range"),
        rule(.success, extendedScan, "legal"),
        rule(unsupported, ExtendedTests.scan([.le2M]), "2M"),
        rule(invalid, ExtendedTests.scan([]), "no PHY"),
        rule(invalid, HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 3), "filter out of range"),
        rule(invalid, HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 2), "reset per period without a period"),
        rule(invalid, HCICommands.LESetExtendedScanEnable(enable: 1, duration: 128, period: 1), "duration not below the period"),
        rule(.success, create, "legal"),
        rule(invalid, create, "window above interval") { $0.leScanWindow = 0x20 },
        rule(invalid, create, "interval below the range") { $0.connectionIntervalMin = 5 },
        rule(invalid, create, "minimum above maximum") { $0.connectionIntervalMin = 25 },
        rule(invalid, create, "latency out of range") { $0.maxLatency = 500 },
        rule(invalid, create, "time-out out of range") { $0.supervisionTimeout = 9 },
        rule(invalid, create, "time-out shorter than the latency allows") { $0.maxLatency = 20 },
        rule(invalid, create, "event lengths crossed") { $0.minCELength = 1 },
        rule(invalid, create, "random address without one") { $0.ownAddressType = 1 },
        rule(disallowed, create, after: [HCIPacket(command: create)], "while another is pending"),
        rule(.success, extendedCreate, "legal"),
        rule(unsupported, extendedCreate, "reserved PHY") {
            $0.initiatingPHYs = 8
            $0.phyParameters = [$0.phyParameters[0]]
        },
        rule(disallowed, HCICommands.LECreateConnectionCancel(), "nothing to cancel"),
        rule(invalid, HCICommands.LESetHostChannelClassification(channelMap: 0), "no channel"),
        rule(invalid, HCICommands.LESetHostChannelClassification(channelMap: 1 << 37), "reserved channel"),
    ]

    static let rest: [Rule] = [
        rule(invalid, HCICommands.LEWriteSuggestedDefaultDataLength(suggestedMaxTXOctets: 26, suggestedMaxTXTime: 328), "octets"),
        rule(invalid, HCICommands.LEWriteSuggestedDefaultDataLength(suggestedMaxTXOctets: 27, suggestedMaxTXTime: 327), "time"),
        rule(.success, HCICommands.LEWriteSuggestedDefaultDataLength(suggestedMaxTXOctets: 251, suggestedMaxTXTime: 17040), "legal"),
        rule(unsupported, HCICommands.LESetDefaultPHY(txPHYs: 8, rxPHYs: 1), "reserved PHY"),
        rule(invalid, HCICommands.LESetDefaultPHY(txPHYs: 0, rxPHYs: 1), "no PHY"),
        rule(invalid, HCICommands.LESetDefaultPHY(allPHYs: 4, txPHYs: 1, rxPHYs: 1), "All_PHYs out of range"),
        rule(.success, HCICommands.LESetDefaultPHY(allPHYs: 3, txPHYs: 0, rxPHYs: 0), "no preference"),
        rule(invalid, HCICommands.LEAddDeviceToFilterAcceptList(addressType: 2), "address type out of range"),
        rule(
            .memoryCapacityExceeded, HCICommands.LEAddDeviceToFilterAcceptList(address: 99),
            after: (0..<8).map { HCIPacket(command: HCICommands.LEAddDeviceToFilterAcceptList(address: BDADDR(UInt64($0)))) },
            "a ninth device"),
        rule(
            .success, HCICommands.LEAddDeviceToFilterAcceptList(address: 3),
            after: (0..<8).map { HCIPacket(command: HCICommands.LEAddDeviceToFilterAcceptList(address: BDADDR(UInt64($0)))) },
            "a device twice"),
        rule(
            .success, HCICommands.LEWriteRFPathCompensation(rfTXPathCompensationValue: -1_280, rfRXPathCompensationValue: 1_280), "the most"
        ),
        rule(invalid, HCICommands.LEWriteRFPathCompensation(rfTXPathCompensationValue: -1_281), "more than the most"),
        rule(invalid, HCICommands.LEWriteRFPathCompensation(rfRXPathCompensationValue: 1_281), "more than the most"),
        rule(invalid, HCICommands.HostBufferSize(hostACLDataPacketLength: 0, hostTotalNumACLDataPackets: 1), "no room for data"),
        rule(invalid, HCICommands.HostBufferSize(hostACLDataPacketLength: 27, hostTotalNumACLDataPackets: 0), "no buffer"),
        rule(unsupported, HCICommands.SetControllerToHostFlowControl(flowControlEnable: 2), "for voice"),
        rule(disallowed, HCICommands.LEGenerateDHKey(remoteP256PublicKey: [UInt8](repeating: 1, count: 64)), "no key pair"),
        rule(invalid, HCICommands.LEGenerateDHKeyV2(remoteP256PublicKey: [], keyType: 2), "key type out of range"),
    ]

    @Test(arguments: advertising + sets + advertisingData + scanningAndInitiating + hostFeatures + rest) func aCommandIsAnsweredWith(
        _ rule: Rule
    ) throws {
        try World.run(hosts: 1) { world in
            for packet in rule.before {
                let answer = try await world.hosts[0].raw(packet.commandOpcode ?? 0, packet.parameters)
                #expect(answer.status == .success, "preparation")
            }
            let answer = try await world.hosts[0].raw(rule.command.commandOpcode ?? 0, rule.command.parameters)
            #expect(answer.status == rule.expected)
        }
    }

    // MARK: Rules on a connection

    @Test func aConnectionsCommandsAreJudged() throws {
        try World.run(hosts: 2) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await peripheral.advertiseLegacy()
            try await central.createConnection(to: World.address(0))
            let handle = try await central.next(HCIEvents.LEEnhancedConnectionComplete.self).connectionHandle
            let update = HCICommands.LEConnectionUpdate(
                connectionHandle: handle, connectionIntervalMin: 24, connectionIntervalMax: 24, supervisionTimeout: 100)
            var wrong = update
            wrong.connectionIntervalMin = 25
            #expect(try await central.run(wrong) == Self.invalid)
            #expect(try await central.run(HCICommands.Disconnect(connectionHandle: handle, reason: .success)) == Self.invalid)
            #expect(try await central.run(HCICommands.LESetPHY(connectionHandle: handle, txPHYs: 8, rxPHYs: 1)) == Self.unsupported)
            #expect(try await central.run(HCICommands.LESetPHY(connectionHandle: handle, txPHYs: 0, rxPHYs: 1)) == Self.invalid)
            #expect(
                try await central.run(HCICommands.LESetPHY(connectionHandle: handle, txPHYs: 1, rxPHYs: 1, phyOptions: 3)) == Self.invalid)
            #expect(try await central.run(HCICommands.LESetDataLength(connectionHandle: handle, txOctets: 26, txTime: 328)) == Self.invalid)
            #expect(
                try await central.run(
                    HCICommands.LECreateConnection(
                        leScanInterval: 16, leScanWindow: 16, peerAddress: World.address(0).bdADDR, connectionIntervalMin: 24,
                        connectionIntervalMax: 24,
                        supervisionTimeout: 100)) == .connectionAlreadyExists)
            try await world.loop.sleep(for: .milliseconds(100))
            let map = try await central.returns(HCICommands.LEReadChannelMap(connectionHandle: handle))
            #expect(map.channelMap == 0x1F_FFFF_FFFF)
            #expect(try await central.returns(HCICommands.ReadRSSI(handle: handle)).rssi == -50)
        }
    }

    /// Values about decisions, which Core 6.0 has, in a controller without them: the version, Advertising_Event_Properties or Initiator_Filter_Policy.
    static let decisions: [(UInt8, HCIPacket, ErrorCode)] = [
        (0x0D, setPacket(0x100), unsupported), (0x0E, setPacket(0x100), invalid), (0x0E, setPacket(0x200), invalid),
        (0x0E, setPacket(0x084), invalid), (0x0E, setPacket(0x180), unsupported), (0x0D, policyPacket(2), invalid),
        (0x0E, policyPacket(2), unsupported), (0x0E, policyPacket(3), unsupported), (0x0E, policyPacket(4), unsupported),
        (0x0E, policyPacket(5), invalid),
    ]

    private static func policyPacket(_ policy: UInt8) -> HCIPacket {
        var command = extendedCreate
        command.initiatorFilterPolicy = policy
        return HCIPacket(command: command)
    }

    @Test(arguments: decisions) func decisionsAreRefused(version: UInt8, command: HCIPacket, expected: ErrorCode) throws {
        var template = ControllerConfiguration(address: World.address(0))
        template.limit(to: version)
        try World.run(hosts: 1, template: template) { world in
            let answer = try await world.hosts[0].raw(try #require(command.commandOpcode), command.parameters)
            #expect(answer.status == expected)
        }
    }

    @Test func connectionsAreLimited() throws {
        var template = ControllerConfiguration(address: World.address(0))
        template.maxConnections = 1
        try World.run(hosts: 2, template: template) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await peripheral.advertiseLegacy()
            try await central.createConnection(to: World.address(0))
            _ = try await central.next(HCIEvents.LEEnhancedConnectionComplete.self)
            #expect(try await peripheral.run(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1)) == .connectionLimitExceeded)
            #expect(try await central.run(Self.create) == .connectionLimitExceeded)
        }
    }

    @Test func moreDataThanBuffersOverflows() throws {
        var template = ControllerConfiguration(address: World.address(0))
        template.aclCount = 4
        try World.run(hosts: 2, template: template) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await peripheral.advertiseLegacy()
            try await central.createConnection(to: World.address(0), interval: 160)
            let handle = try await central.next(HCIEvents.LEEnhancedConnectionComplete.self).connectionHandle
            for number: UInt8 in 0..<6 { central.sendData(handle, [number]) }
            try await world.loop.sleep(for: .seconds(2))
            let overflows = central.all(HCIEvents.DataBufferOverflow.self)
            #expect(overflows.count == 2 && overflows.allSatisfy { $0.linkType == 1 })
            var received: [UInt8] = []
            for _ in 0..<4 { received.append(try await peripheral.nextData().last ?? 0xFF) }
            #expect(received == [0, 1, 2, 3])
            let completed = central.all(HCIEvents.NumberOfCompletedPackets.self).flatMap(\.handles)
            #expect(completed.reduce(0) { $0 + Int($1.numCompletedPackets) } == 4)
        }
    }
}
