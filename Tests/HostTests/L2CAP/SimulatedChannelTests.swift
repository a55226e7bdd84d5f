import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Credit-based channels between two hosts on two virtual controllers.
@Suite struct SimulatedChannelTests {
    private static func open(
        _ hosts: SimulatedHosts, _ initiator: CreditBasedChannelSettings, _ acceptor: CreditBasedChannelSettings, enhanced: Int? = nil
    ) async throws -> (link: Connection, near: [CreditBasedChannel], far: [CreditBasedChannel]) {
        var far: [CreditBasedChannel] = []
        hosts.peripheral.listen(0x80, acceptor) { far.append($0) }
        let link = try await hosts.link().central
        let near =
            if let enhanced {
                try await link.openChannels(0x80, count: enhanced, initiator)
            } else {
                [try await link.openChannel(0x80, initiator)]
            }
        try await hosts.loop.sleep(for: .seconds(1))
        return (link, near, far)
    }

    @Test(arguments: [(23, 23, 1), (512, 247, 10), (1_000, 23, 3), (65_535, 65_533, 2)])
    func sdusOfEveryLengthArriveBothWays(mtu: Int, mps: Int, credits: Int) throws {
        try SimulatedHosts.run { hosts in
            let settings = CreditBasedChannelSettings(mtu: UInt16(mtu), mps: UInt16(mps), initialCredits: UInt16(credits))
            let (_, near, far) = try await Self.open(hosts, settings, settings)
            let ends = [try #require(near.first), try #require(far.first)]
            #expect(ends.map(\.peerMTU) == [mtu, mtu] && ends.map(\.credits) == [credits, credits])
            let lengths = [0, 1, 21, 22, 23, mps - 2, mps - 1, mps, mtu - 1, mtu].filter { (0...min(mtu, 3_000)).contains($0) }
            for (one, other) in [(0, 1), (1, 0)] {
                for length in lengths {
                    let sdu = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
                    try await ends[one].send(sdu)
                    #expect(try await ends[other].receive(within: .seconds(5)) == sdu)
                }
            }
            await #expect(throws: HostError.misuse(.tooLong(octets: mtu + 1, limit: mtu))) {
                try await ends[0].send([UInt8](repeating: 0, count: mtu + 1))
            }
            #expect(hosts.central.counters.unknownChannels == 0 && hosts.peripheral.counters.unknownChannels == 0)
        }
    }

    /// A host with resources for two channels accepts what fits. Core Vol 3, Part A, 4.23 and 4.26.
    @Test func aHostWithALimitRefusesTheRest() throws {
        try SimulatedHosts.run { hosts in
            hosts.peripheral.quirks.channels.mostChannels = 2
            let (link, near, far) = try await Self.open(hosts, .init(), .init(), enhanced: 3)
            #expect(near.count == 2 && far.count == 2)
            await #expect(throws: HostError.peer(.channel(.creditBasedRefused(.refusedNoResources)))) {
                _ = try await link.openChannel(0x80, .init())
            }
        }
    }

    @Test func aSenderWaitsForCredits() throws {
        try SimulatedHosts.run { hosts in
            var miser = CreditBasedChannelSettings(mtu: 100, mps: 23, initialCredits: 0)
            miser.grantsCredits = false
            let (_, near, far) = try await Self.open(hosts, .init(), miser)
            let (sender, receiver) = (try #require(near.first), try #require(far.first))
            let sending = hosts.loop.start { try await sender.send([UInt8](repeating: 5, count: 40)) }
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(!sending.isOver)
            receiver.grant(1)
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(!sending.isOver && sender.credits == 0)
            receiver.grant(1)
            #expect(try await receiver.receive(within: .seconds(1)) == [UInt8](repeating: 5, count: 40))
            #expect(sending.isOver && sender.credits == 0 && receiver.grantedCredits == 0)
        }
    }

    @Test func aChannelEndsAtBothEnds() throws {
        try SimulatedHosts.run { hosts in
            let (link, near, far) = try await Self.open(hosts, .init(), .init())
            let (one, other) = (try #require(near.first), try #require(far.first))
            try await one.send([1])
            one.disconnect()
            #expect(one.failure == .peer(.channel(.byThisSide)))
            try await other.ended()
            #expect(other.failure == .peer(.channel(.byPeer)))
            #expect(try await other.receive() == [1])
            await #expect(throws: HostError.peer(.channel(.byPeer))) { _ = try await other.receive() }
            let again = try await link.openChannel(0x80)
            #expect(again.isOpen && !one.isOpen)
            try await link.disconnect()
            await #expect(throws: HostError.self) { try await again.send([1]) }
        }
    }

    @Test func refusalsAreTold() throws {
        try SimulatedHosts.run { hosts in
            var secret = CreditBasedChannelSettings()
            secret.minimumSecurity = .encrypted
            hosts.peripheral.listen(0x81, secret) { _ in }
            let link = try await hosts.link().central
            for (spsm, result) in [(0x80, CreditBasedConnectionResult.refusedSPSMNotSupported), (0x81, .refusedInsufficientAuthentication)]
            {
                await #expect(throws: HostError.peer(.channel(.creditBasedRefused(result)))) {
                    _ = try await link.openChannel(UInt16(spsm))
                }
            }
            await #expect(throws: HostError.misuse(.illegalChannel)) { _ = try await link.openChannel(0x80, .init(mtu: 22)) }
            await #expect(throws: HostError.misuse(.illegalChannel)) { _ = try await link.openChannel(0x80, .init(mps: 65_534)) }
            await #expect(throws: HostError.misuse(.illegalChannel)) { _ = try await link.openChannels(0x80, count: 2, .init(mps: 63)) }
        }
    }

    /// Answers of a service to requests of one channel and of three, by what it admits.
    @Test(
        arguments: [
            (ChannelAdmission.accept(first: 0), CreditBasedConnectionResult.refusedNoResources),
            (.notAuthorized, .refusedInsufficientAuthorization),
        ])
    func aServiceRefuses(_ admission: ChannelAdmission, _ result: CreditBasedConnectionResult) throws {
        try SimulatedHosts.run { hosts in
            var counts: [Int] = []
            let admits = { (_: PeerLink, count: Int) -> ChannelAdmission in
                counts.append(count)
                return admission
            }
            hosts.peripheral.listen(0x80, over: .le, admits: admits) { _, _ in Issue.record("a channel was opened") }
            let link = try await hosts.link().central
            let refusal = HostError.peer(.channel(.creditBasedRefused(result)))
            await #expect(throws: refusal) { _ = try await link.openChannel(0x80) }
            await #expect(throws: refusal) { _ = try await link.openChannels(0x80, count: 3) }
            #expect(counts == [1, 3])
        }
    }

    @Test func aServiceTakesAsManyChannelsAsItHasRoomFor() throws {
        try SimulatedHosts.run { hosts in
            var far: [CreditBasedChannel] = []
            hosts.peripheral.listen(
                0x80, over: .le, admits: { _, _ in .accept(first: 2 - far.count) },
                openedBy: {
                    far.append($0)
                    _ = $1
                })
            let link = try await hosts.link().central
            let near = try await link.openChannels(0x80, count: 3)
            #expect(near.count == 2 && far.map(\.remoteCID) == near.map(\.localCID))
            try await near[1].send([1, 2, 3])
            #expect(try await far[1].receive(within: .seconds(1)) == [1, 2, 3])
            await #expect(throws: HostError.peer(.channel(.creditBasedRefused(.refusedNoResources)))) {
                _ = try await link.openChannel(0x80)
            }
        }
    }

    /// A channel opens once the link has the level and the key size that the service demands. Core Vol 3, Part C, 10.3.1.
    @Test(arguments: [(LinkSecurity.encrypted, 0), (.encrypted, 16), (.authenticated, 0), (.secureConnections, 16)])
    func aServiceDemandsSecurity(_ level: LinkSecurity, _ keySize: Int) throws {
        try SimulatedHosts.run { hosts in
            var settings = CreditBasedChannelSettings()
            (settings.minimumSecurity, settings.minimumKeySize) = (level, keySize)
            hosts.peripheral.listen(0x80, settings) { _ in }
            let link = try await hosts.link().central
            await #expect(throws: HostError.peer(.channel(.creditBasedRefused(.refusedInsufficientAuthentication)))) {
                _ = try await link.openChannel(0x80)
            }
            var pairing = PairingSettings()
            (pairing.ioCapability, pairing.asksForMITM) = (.displayYesNo, true)
            for host in [hosts.central, hosts.peripheral] {
                (host.pairingSettings, host.pairingDialogue) = (pairing, .unattended(accepts: true))
            }
            try await link.secure(to: level)
            let channel = try await link.openChannel(0x80)
            #expect(link.security >= level && channel.isOpen)
        }
    }

    @Test func fiveChannelsOpenAtOnceAndAreReconfigured() throws {
        try SimulatedHosts.run { hosts in
            let settings = CreditBasedChannelSettings(mtu: 100, mps: 64, initialCredits: 4)
            let (link, near, far) = try await Self.open(hosts, settings, settings, enhanced: 5)
            #expect(near.count == 5 && far.count == 5)
            for (index, channel) in near.enumerated() {
                try await channel.send([UInt8(index)])
                #expect(try await far[index].receive(within: .seconds(1)) == [UInt8(index)])
            }
            try await link.reconfigure(near, mtu: 300, mps: 100)
            #expect(far.map(\.peerMTU) == [300, 300, 300, 300, 300])
            let sdu = [UInt8](repeating: 8, count: 300)
            try await far[4].send(sdu)
            #expect(try await near[4].receive(within: .seconds(1)) == sdu)
            await #expect(throws: HostError.peer(.notReconfigured(.failedReductionOfMTU))) {
                try await link.reconfigure(near, mtu: 299, mps: 100)
            }
        }
    }
}
