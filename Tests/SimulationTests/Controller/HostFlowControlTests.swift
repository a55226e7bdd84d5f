import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import Testing

/// Data for a host that has reported its buffers. Core Vol 4, Part E, 4.2 and 4.3.
@Suite struct HostFlowControlTests {
    /// Packets are fragmented to Host_ACL_Data_Packet_Length, their number is limited by the buffers, and the end of a link frees its
    /// buffers.
    @Test func dataWaitsForBuffersUntilItsLinkEnds() throws {
        try World.run(hosts: 2) { world in
            let host = world.hosts[0]
            try await host.succeed(
                HCICommands.HostBufferSize(
                    hostACLDataPacketLength: 10, hostSynchronousDataPacketLength: 1, hostTotalNumACLDataPackets: 3),
                HCICommands.SetControllerToHostFlowControl(flowControlEnable: 1))
            let pair = try await ConnectionTests.connect(world)
            #expect(try await host.run(HCICommands.SetControllerToHostFlowControl(flowControlEnable: 0)) == .commandDisallowed)
            for number: UInt8 in 0..<4 { pair.central.sendData(pair.atCentral, [UInt8](repeating: number, count: 15)) }
            try await world.loop.sleep(for: .milliseconds(500))
            let first: [[UInt8]] = [[UInt8](repeating: 0, count: 10), [0, 0, 0, 0, 0], [UInt8](repeating: 1, count: 10)]
            #expect(try await Self.payloads(host) == first)
            Self.free(2, pair.atPeripheral, host)
            #expect(try await Self.payloads(host) == [[1, 1, 1, 1, 1], [UInt8](repeating: 2, count: 10)])
            Self.free(9, pair.atPeripheral, host)
            let refusal: HCIEvents.CommandComplete = try await host.next()
            #expect(refusal.returnParameters == [ErrorCode.invalidHCICommandParameters.rawValue], "more than it has")
            try await pair.central.succeed(
                HCICommands.Disconnect(connectionHandle: pair.atCentral, reason: .remoteUserTerminatedConnection))
            _ = try await host.next(HCIEvents.DisconnectionComplete.self)
            #expect(try await Self.payloads(host) == [], "what waited is gone with its link")
            let next = try await ConnectionTests.connect(world)
            for number: UInt8 in 0..<4 { next.central.sendData(next.atCentral, [number]) }
            try await world.loop.sleep(for: .milliseconds(500))
            #expect(try await Self.payloads(host) == [[0], [1], [2]])
        }
    }

    private static func free(_ count: UInt16, _ handle: ConnectionHandle, _ host: RawHost) {
        let command = HCICommands.HostNumberOfCompletedPackets(
            handles: [.init(connectionHandle: handle, hostNumCompletedPackets: count)])
        host.transport.send(HCIPacket(command: command))
    }

    /// Received data without headers.
    private static func payloads(_ host: RawHost) async throws -> [[UInt8]] {
        var all: [[UInt8]] = []
        while let data = try? await host.nextData(within: .milliseconds(20)) { all.append(Array(data.dropFirst(4))) }
        return all
    }
}
