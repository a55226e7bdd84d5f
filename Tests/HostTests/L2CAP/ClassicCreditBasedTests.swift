import BBBenchTesting
import BBL2CAP
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Channels in enhanced credit-based flow control mode over BR/EDR. Core Vol 3, Part A, 4.25 to 4.28, and 10.2.
@Suite struct ClassicCreditBasedTests {
    private static let settings = CreditBasedChannelSettings(mtu: 300, mps: 100, initialCredits: 4)

    private static func run(_ body: @escaping (ClassicHosts) async throws -> Void) throws {
        try ClassicHosts.run([PairingSettings(), PairingSettings()], body)
    }

    @Test(arguments: [false, true]) func sdusArriveBothWays(fromAcceptor: Bool) throws {
        try Self.run { hosts in
            let (one, other) = try await hosts.link()
            let (asker, answerer) = fromAcceptor ? (other, one) : (one, other)
            var far: [CreditBasedChannel] = []
            answerer.host.listen(0x80, Self.settings, over: .brEDR) { channel, link in
                far.append(channel)
                #expect(link.acl === answerer)
            }
            let near = try await asker.openChannels(0x80, count: 5, Self.settings)
            #expect(near.count == 5 && far.count == 5 && asker.encryptionKeySize >= 7)
            for (one, other) in zip(near + far, far + near) {
                #expect((one.remoteCID, one.peerMTU, one.peerMPS, one.credits) == (other.localCID, 300, 100, 4))
                for length in [0, 98, 99, 300] {
                    let sdu = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
                    try await one.send(sdu)
                    #expect(try await other.receive(within: .seconds(5)) == sdu)
                }
            }
            try await asker.creditBased.reconfigure(near, mtu: 400, mps: 120)
            #expect(far.map(\.peerMTU) == [400, 400, 400, 400, 400])
            near[0].disconnect()
            try await far[0].ended()
            #expect(far[0].failure == .peer(.channel(.byPeer)))
            try await asker.disconnect()
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(near[1].failure != nil && asker.creditBased.count == 0 && answerer.creditBased.count == 0)
        }
    }

    @Test func theyShareCIDsWithOtherChannels() throws {
        try Self.run { hosts in
            hosts.far.offer(EchoService(psm: 0x1001))
            hosts.far.listen(0x80, Self.settings, over: .brEDR) { _, _ in }
            let (near, far) = try await hosts.link()
            let basic = try await near.openChannel(0x1001)
            let credits = try await near.openChannels(0x80, count: 2, Self.settings)
            let again = try await near.openChannel(0x1001)
            let cids = [basic.terms.localCID, again.terms.localCID] + credits.map(\.localCID)
            #expect(Set(cids).count == 4 && cids.allSatisfy(CID.dynamic.contains))
            credits[0].disconnect()
            basic.disconnect()
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(again.failure == nil && credits[1].isOpen && far.creditBased.count == 1)
        }
    }

    @Test func refusals() throws {
        try Self.run { hosts in
            var strong = Self.settings
            strong.minimumSecurity = .authenticated
            hosts.far.listen(0x80, strong, over: .brEDR) { _, _ in }
            hosts.far.listen(0x81, Self.settings, over: .brEDR, admits: { _, _ in .notAuthorized }, openedBy: { _, _ in })
            // A service on LE alone.
            hosts.far.listen(0x82, Self.settings) { _ in }
            let (near, _) = try await hosts.link()
            for (spsm, result) in [
                (0x80, CreditBasedConnectionResult.refusedInsufficientAuthentication), (0x81, .refusedInsufficientAuthorization),
                (0x82, .refusedSPSMNotSupported), (0x83, .refusedSPSMNotSupported),
            ] {
                await #expect(throws: HostError.peer(.channel(.creditBasedRefused(result)))) {
                    _ = try await near.openChannels(UInt16(spsm), Self.settings)
                }
            }
        }
    }

    /// Commands to one end, and its responses, with and without the feature.
    @Test(
        arguments: [
            ("17 02 0a00 8000 6400 4000 0300 4000", "18 02 0a00 2c01 6400 0400 0000 4000", "01 02 0200 0000"),
            ("17 02 0a00 8000 6400 4000 0300 ffff", "18 02 0a00 2c01 6400 0400 0000 4000", "01 02 0200 0000"),
            ("17 02 0a00 8000 6400 4000 0300 3f00", "18 02 0a00 0000 0000 0000 0900 0000", "01 02 0200 0000"),
            ("17 02 0a00 8000 6400 3f00 0300 4000", "18 02 0a00 0000 0000 0000 0c00 0000", "01 02 0200 0000"),
            ("19 02 0600 6400 4000 4000", "1a 02 0200 0300", "01 02 0200 0000"),
            // LE credit-based flow control mode is for LE links alone.
            ("14 02 0a00 8000 4000 6400 6400 0300", "01 02 0200 0000", "01 02 0200 0000"),
        ]) func commands(command: String, answer: String, without: String)
    {
        for (features, answer) in [(ClassicSignaling.Settings().features, answer), (ExtendedFeatures(), without)] {
            var settings = ClassicSignaling.Settings()
            settings.features = features
            var signaling = ClassicSignaling(settings)
            var sent: [ClassicSignaling.Action] = []
            for action in signaling.received(octets(command), at: .zero) {
                guard case .creditBased(.requested(let identifier, _, _)) = action else {
                    sent.append(action)
                    continue
                }
                sent += signaling.withCreditBased { $0.decide(identifier, .accept(Self.settings)) }
            }
            #expect(sent.first == .send(octets(answer)))
        }
    }
}
