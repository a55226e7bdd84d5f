import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import Testing

/// Local loopback mode. Core Vol 4, Part E, 7.6.1 and 7.6.2.
@Suite struct LoopbackTests {
    static let voice: ControllerConfiguration = {
        var configuration = ControllerConfiguration(address: World.address(0))
        (configuration.synchronousLength, configuration.synchronousCount) = (60, 8)
        return configuration
    }()

    /// The handles created by loopback mode, by link type.
    private func enter(_ host: RawHost) async throws -> (data: ConnectionHandle, voice: [ConnectionHandle]) {
        try await host.succeed(HCICommands.WriteLoopbackMode(loopbackMode: 1))
        try await host.loop.sleep(for: 10)
        let complete = host.all(HCIEvents.ConnectionComplete.self)
        #expect(complete.allSatisfy { $0.status == .success })
        return (
            try #require(complete.first { $0.linkType == .acl }?.connectionHandle),
            complete.filter { $0.linkType == .sco }.map(\.connectionHandle)
        )
    }

    @Test func commandsComeBackButForThoseOfFlowControlAndTheModeItself() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            _ = try await enter(host)
            #expect(try await host.returns(HCICommands.ReadLoopbackMode()).loopbackMode == 1)
            #expect(try await host.returns(HCICommands.ReadBufferSize()).aclDataPacketLength == 251)
            let long = [UInt8](0..<255)
            for (opcode, parameters): (UInt16, [UInt8]) in [(0x1009, []), (0x0C01, [1, 2, 3, 4, 5, 6, 7, 8]), (0xFFFF, long)] {
                let packet = HCIPacket(opcode: opcode, parameters: parameters)
                host.transport.send(packet)
                let event = try await host.next(HCIEvents.LoopbackCommand.self)
                #expect(event.hciCommandPacket == Array(packet.bytes.prefix(255)))
            }
            #expect(host.all(HCIEvents.CommandComplete.self).isEmpty && host.all(HCIEvents.CommandStatus.self).isEmpty)
            try await host.succeed(HCICommands.Reset(), HCICommands.ReadBDADDR())
            #expect(try await host.returns(HCICommands.ReadLoopbackMode()).loopbackMode == 0)
        }
    }

    @Test func dataComesBackAndItsBuffersAreReported() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            let (handle, voice) = try await enter(host)
            #expect(voice.isEmpty, "an LE-only controller has no voice")
            for round in 0..<10 {
                for index in 0..<8 {
                    host.sendData(handle, [UInt8](repeating: UInt8(index), count: 251 - 31 * index), boundary: index % 2 == 0 ? 0 : 1)
                }
                for index in 0..<8 {
                    let packet = try await host.nextData()
                    #expect(packet.count == 4 + 251 - 31 * index && packet.last == UInt8(index) && packet[1] >> 4 == index % 2, "\(round)")
                }
                try await world.loop.sleep(for: .milliseconds(2))
                #expect(host.all(HCIEvents.NumberOfCompletedPackets.self).flatMap(\.handles).allSatisfy { $0.connectionHandle == handle })
            }
            host.sendData(handle, [7])
            let lone = try await host.next(HCIEvents.NumberOfCompletedPackets.self, within: .milliseconds(2))
            #expect(lone.handles == [.init(connectionHandle: handle, numCompletedPackets: 1)])
        }
    }

    @Test func whatDoesNotFitOverflows() throws {
        try World.run(hosts: 1, template: Self.voice) { world in
            let host = world.hosts[0]
            let (handle, voice) = try await enter(host)
            #expect(voice.count == 3)
            host.sendData(handle, [UInt8](repeating: 0, count: 252))
            #expect(try await host.next(HCIEvents.DataBufferOverflow.self).linkType == 1)
            let first = voice[0].rawValue
            host.transport.send(HCIPacket(.sco, [UInt8(first & 0xFF), UInt8(first >> 8), 61] + [UInt8](repeating: 0, count: 61)))
            #expect(try await host.next(HCIEvents.DataBufferOverflow.self).linkType == 0)
            for bytes: [UInt8] in [[], [1], [UInt8(first & 0xFF), UInt8(first >> 8), 9, 1], [0xFF, 0x0E, 1, 1]] {
                host.transport.send(HCIPacket(.sco, bytes))
                host.transport.send(HCIPacket(.acl, bytes))
            }
            try await world.loop.sleep(for: .milliseconds(2))
            #expect(host.log.allSatisfy { $0.packet.kind == .event })
        }
    }

    @Test func voiceComesBackOnEachOfItsHandles() throws {
        try World.run(hosts: 1, template: Self.voice) { world in
            let host = world.hosts[0]
            let sent = try await enter(host).voice.map {
                HCIPacket(.sco, [UInt8($0.rawValue & 0xFF), UInt8($0.rawValue >> 8), 48] + [UInt8](repeating: 9, count: 48))
            }
            for packet in sent { host.transport.send(packet) }
            try await world.loop.sleep(for: .milliseconds(2))
            let received: [HCIPacket] = host.log.map(\.packet).filter { $0.kind == .sco }
            #expect(received == sent)
            #expect(host.all(HCIEvents.NumberOfCompletedPackets.self).isEmpty, "voice has no credits")
        }
    }

    @Test func theModeEndsItsLinksAndAllowsNoOthers() throws {
        try World.run(hosts: 2, template: Self.voice) { world in
            let host = world.hosts[0]
            #expect(try await host.run(HCICommands.WriteLoopbackMode(loopbackMode: 2)) == .unsupportedFeatureOrParameterValue)
            #expect(try await host.run(HCICommands.WriteLoopbackMode(loopbackMode: 3)) == .invalidHCICommandParameters)
            try await host.advertiseLegacy()
            #expect(try await host.run(HCICommands.WriteLoopbackMode(loopbackMode: 1)) == .commandDisallowed)
            try await host.succeed(HCICommands.LESetAdvertisingEnable(advertisingEnable: 0))
            let handles = try await enter(host)
            try await host.succeed(HCICommands.WriteLoopbackMode(loopbackMode: 1))
            host.sendData(handles.data, [1])
            try await host.succeed(HCICommands.WriteLoopbackMode(loopbackMode: 0))
            try await world.loop.sleep(for: .milliseconds(2))
            let ended = host.all(HCIEvents.DisconnectionComplete.self)
            #expect(Set(ended.map(\.connectionHandle)) == Set(handles.voice + [handles.data]))
            #expect(host.all(HCIEvents.NumberOfCompletedPackets.self).flatMap(\.handles).map(\.numCompletedPackets) == [1])
            #expect(host.all(HCIEvents.ConnectionComplete.self).isEmpty, "entered twice")
            try await host.advertiseLegacy()
        }
    }
}
