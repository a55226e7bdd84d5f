import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import Testing

/// Procedures of a connection, as both hosts see them.
@Suite struct ConnectionTests {
    /// A connection between host 0, the peripheral, and host 1, the central.
    struct Pair {
        var peripheral: RawHost
        var central: RawHost
        var atPeripheral: ConnectionHandle
        var atCentral: ConnectionHandle
    }

    static func connect(_ world: World) async throws -> Pair {
        let (peripheral, central) = (world.hosts[0], world.hosts[1])
        try await peripheral.advertiseLegacy()
        try await central.createConnection(to: World.address(0))
        let atCentral = try await central.next(HCIEvents.LEEnhancedConnectionComplete.self).connectionHandle
        let atPeripheral = try await peripheral.next(HCIEvents.LEEnhancedConnectionComplete.self).connectionHandle
        try await world.loop.sleep(for: .milliseconds(100))
        return Pair(peripheral: peripheral, central: central, atPeripheral: atPeripheral, atCentral: atCentral)
    }

    /// A central that supports the connection parameters request procedure, and does not know that its peer lacks it, sends
    /// LL_CONNECTION_PARAM_REQ. If the peer's host masks the event, it sends LL_CONNECTION_UPDATE_IND. Core Vol 6, Part B, 5.1.1 and 5.1.7.
    @Test(arguments: [true, false]) func theCentralChangesTheParameters(_ isAsked: Bool) throws {
        try World.run(hosts: 2) { world in
            let pair = try await Self.connect(world)
            let masked: LEEventMask = isAsked ? [] : .leRemoteConnectionParameterRequest
            try await pair.peripheral.succeed(HCICommands.LESetEventMask(leEventMask: LEEventMask(rawValue: 0xFF).subtracting(masked)))
            try await pair.central.succeed(
                HCICommands.LEConnectionUpdate(
                    connectionHandle: pair.atCentral, connectionIntervalMin: 40, connectionIntervalMax: 40, maxLatency: 2,
                    supervisionTimeout: 300))
            if isAsked {
                let request: HCIEvents.LERemoteConnectionParameterRequest = try await pair.peripheral.next()
                #expect(request.intervalMin == 40 && request.intervalMax == 40 && request.maxLatency == 2 && request.timeout == 300)
                try await pair.peripheral.succeed(
                    HCICommands.LERemoteConnectionParameterRequestReply(
                        connectionHandle: pair.atPeripheral, intervalMin: 40, intervalMax: 40, maxLatency: 2, timeout: 300))
            }
            for host in [pair.central, pair.peripheral] {
                let event: HCIEvents.LEConnectionUpdateComplete = try await host.next()
                #expect(event.status == .success && event.connectionInterval == 40 && event.peripheralLatency == 2)
                #expect(event.supervisionTimeout == 300)
            }
        }
    }

    @Test(arguments: [true, false]) func thePeripheralAsksForParameters(_ isAccepted: Bool) throws {
        try World.run(hosts: 2) { world in
            let pair = try await Self.connect(world)
            try await pair.peripheral.succeed(
                HCICommands.LEConnectionUpdate(
                    connectionHandle: pair.atPeripheral, connectionIntervalMin: 32, connectionIntervalMax: 48, supervisionTimeout: 200))
            let request: HCIEvents.LERemoteConnectionParameterRequest = try await pair.central.next()
            #expect(request.intervalMin == 32 && request.intervalMax == 48 && request.timeout == 200)
            if isAccepted {
                try await pair.central.succeed(
                    HCICommands.LERemoteConnectionParameterRequestReply(
                        connectionHandle: pair.atCentral, intervalMin: 32, intervalMax: 48, timeout: 200))
                let event: HCIEvents.LEConnectionUpdateComplete = try await pair.central.next()
                #expect(event.status == .success && (32...48).contains(event.connectionInterval))
                _ = try await pair.peripheral.next(HCIEvents.LEConnectionUpdateComplete.self)
            } else {
                try await pair.central.succeed(
                    HCICommands.LERemoteConnectionParameterRequestNegativeReply(
                        connectionHandle: pair.atCentral, reason: .unacceptableConnectionParameters))
                let event: HCIEvents.LEConnectionUpdateComplete = try await pair.peripheral.next()
                #expect(event.status == .unacceptableConnectionParameters && event.connectionInterval == 24)
            }
        }
    }

    @Test func radioAndFeaturesAreNegotiated() throws {
        try World.run(hosts: 2) { world in
            let pair = try await Self.connect(world)
            try await pair.central.succeed(HCICommands.LESetPHY(connectionHandle: pair.atCentral, txPHYs: .le2M, rxPHYs: .le2M))
            for host in [pair.central, pair.peripheral] {
                let event: HCIEvents.LEPHYUpdateComplete = try await host.next()
                #expect(event.status == .success && event.txPHY == 2 && event.rxPHY == 2)
            }
            _ = pair.central.all(HCIEvents.LEDataLengthChange.self)
            try await pair.central.succeed(
                HCICommands.LESetDataLength(connectionHandle: pair.atCentral, txOctets: 251, txTime: 2120))
            let length: HCIEvents.LEDataLengthChange = try await pair.central.next()
            #expect(length.maxTXOctets == 251)
            try await pair.peripheral.succeed(HCICommands.LEReadRemoteFeatures(connectionHandle: pair.atPeripheral))
            let features: HCIEvents.LEReadRemoteFeaturesComplete = try await pair.peripheral.next()
            #expect(features.status == .success && features.leFeatures.contains(.le2MPHY))
            try await pair.central.succeed(HCICommands.ReadRemoteVersionInformation(connectionHandle: pair.atCentral))
            let version: HCIEvents.ReadRemoteVersionInformationComplete = try await pair.central.next()
            #expect(version.status == .success && version.version == 0x0D)
        }
    }

    @Test func theChannelMapReachesTheOtherSide() throws {
        try World.run(hosts: 2) { world in
            let pair = try await Self.connect(world)
            try await pair.central.succeed(HCICommands.LESetHostChannelClassification(channelMap: 0x0F))
            try await world.loop.sleep(for: .seconds(1))
            let map = try await pair.peripheral.returns(HCICommands.LEReadChannelMap(connectionHandle: pair.atPeripheral))
            #expect(map.channelMap == 0x0F)
        }
    }

    @Test func aResetIsNoticedByTheSupervisionOfTheOtherSideOnly() throws {
        try World.run(hosts: 2) { world in
            let pair = try await Self.connect(world)
            try await pair.central.succeed(HCICommands.Reset())
            let event: HCIEvents.DisconnectionComplete = try await pair.peripheral.next()
            #expect(event.reason == .connectionTimeout)
            #expect(pair.central.all(HCIEvents.DisconnectionComplete.self).isEmpty)
            #expect(try await pair.central.run(HCICommands.ReadRSSI(handle: pair.atCentral)) == .unknownConnectionIdentifier)
        }
    }

    @Test func oneCentralKeepsThreePeripherals() throws {
        try World.run(hosts: 4) { world in
            let central = world.hosts[3]
            var handles: [ConnectionHandle] = []
            for index in 0..<3 {
                try await world.hosts[index].advertiseLegacy()
                try await central.createConnection(to: World.address(index))
                handles.append(try await central.next(HCIEvents.LEEnhancedConnectionComplete.self).connectionHandle)
            }
            for round: UInt8 in 0..<20 {
                for handle in handles { central.sendData(handle, [round, 1]) }
                try await world.loop.sleep(for: .milliseconds(300))
            }
            for index in 0..<3 {
                for round: UInt8 in 0..<20 { #expect(try await world.hosts[index].nextData().suffix(2) == [round, 1]) }
                #expect(world.hosts[index].all(HCIEvents.DisconnectionComplete.self).isEmpty)
            }
        }
    }

    @Test func aPeripheralThatIsGoneIsToldAsFailedToBeEstablished() throws {
        try World.run(hosts: 2) { world in
            let (peripheral, central) = (world.hosts[0], world.hosts[1])
            try await peripheral.advertiseLegacy()
            try await central.createConnection(to: World.address(0))
            let handle = try await central.next(HCIEvents.LEEnhancedConnectionComplete.self).connectionHandle
            try await peripheral.succeed(HCICommands.Reset())
            let event: HCIEvents.DisconnectionComplete = try await central.next()
            #expect(event.connectionHandle == handle && event.reason == .connectionFailedToBeEstablished)
        }
    }
}
