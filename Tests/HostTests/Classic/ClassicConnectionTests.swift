import BBBenchTesting
import BBL2CAP
import BBPackets
import BBSimulation
import BBTiming
import Testing

@testable import BBHost

/// Connections over BR/EDR between two hosts on two virtual controllers, and channels over them.
@Suite struct ClassicConnectionTests {
    private static func run(_ body: @escaping (Host, Host, ClassicConnection, ClassicConnection) async throws -> Void) throws {
        try World.run(seed: 3) { world in
            var hosts: [Host] = []
            for number in UInt64(1)...2 {
                var configuration = ControllerConfiguration(address: DeviceAddress(value: 0xB1BE_0000 + number))
                configuration.profile = .dual
                hosts.append(try await world.addHost(configuration, database: GATTDatabase(deviceName: "host \(number)"), seed: number))
            }
            let (central, peripheral) = (hosts[0], hosts[1])
            var incoming: ClassicConnection?
            peripheral.newClassicConnections.add { incoming = $0 }
            try await peripheral.setScan(isDiscoverable: false, isConnectable: true)
            let near = try await central.connectClassic(to: peripheral.controller.address.bdADDR)
            try await world.loop.sleep(for: .seconds(1))
            let far = try #require(incoming)
            #expect(near.address == peripheral.controller.address.bdADDR && far.address == central.controller.address.bdADDR)
            try await body(central, peripheral, near, far)
        }
    }

    @Test func aConnectionIsMadeAndEnded() throws {
        try Self.run { _, _, near, far in
            let (own, others) = (try await near.disconnect(), try await far.ended())
            #expect(own == .connectionTerminatedByLocalHost && others == .remoteUserTerminatedConnection)
            #expect(!near.isConnected && !far.isConnected)
            await #expect(throws: HostError.peer(.disconnected(.connectionTerminatedByLocalHost))) {
                _ = try await near.openChannel(0x1001)
            }
        }
    }

    /// A scan interval of 1.28 s with two interlaced windows, and the set-up of the link.
    @Test func aConnectableHostIsReachedWithinOneScanInterval() throws {
        try Self.run { central, peripheral, near, _ in
            let address = peripheral.controller.address.bdADDR
            var link = near
            for _ in 1...8 {
                try await link.disconnect()
                try await central.loop.sleep(for: .milliseconds(317))
                let began = central.loop.now
                link = try await central.connectClassic(to: address)
                #expect((central.loop.now - began).seconds < 1.4)
            }
        }
    }

    @Test func aConnectionThatNobodyAnswersIsRefused() throws {
        try Self.run { central, _, _, _ in
            await #expect(throws: HostError.peer(.rejected("Create_Connection", .pageTimeout))) {
                _ = try await central.connectClassic(to: BDADDR(0xB1BE_0000_0009))
            }
        }
    }

    @Test(arguments: [ChannelMode.basic, .enhancedRetransmission, .streaming]) func channelsCarryDataBothWays(mode: ChannelMode) throws {
        try Self.run { _, peripheral, near, far in
            var wanted = ClassicChannelSettings()
            (wanted.mode, wanted.mtu) = (mode, 3_000)
            var arrived: [ClassicDataChannel] = []
            peripheral.listen(psm: 0x1001, wanted, level: .open) { channel, _ in arrived.append(channel) }
            let one = try await near.openChannel(0x1001, wanted, level: .open)
            try await peripheral.loop.sleep(for: .seconds(1))
            let other = try #require(arrived.first)
            #expect(one.terms.mode == mode && other.terms.mode == mode)
            for (sender, receiver) in [(one, other), (other, one)] {
                for length in [1, 672, 1_021, 3_000] {
                    let sdu = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
                    try await sender.send(sdu)
                    #expect(try await receiver.receive() == sdu)
                }
            }
            one.disconnect()
            await #expect(throws: HostError.peer(.channel(.byPeer))) { _ = try await other.receive() }
            await #expect(throws: HostError.peer(.channel(.refused(.refusedPSMNotSupported)))) {
                _ = try await near.openChannel(0x1003, level: .open)
            }
            try await far.disconnect()
        }
    }
}
