import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// A phone and an accessory: profiles on BR/EDR, set up by one pairing on LE.
@Suite struct BridgingTests {
    private static let all: [ClassicProfile] = [.a2dp, .hfp, .avrcp]

    /// Steps observed by both devices, in order.
    private final class Told {
        var phone: [BridgeStep] = []
        var accessory: [ProfileStep] = []
        var session: ProfileSession?
        /// Number of questions to either user.
        var questions = 0
    }

    private static func settings(_ capability: IOCapability) -> PairingSettings {
        var settings = PairingSettings()
        settings.ioCapability = capability
        settings.asksForMITM = capability != .noInputNoOutput
        return settings
    }

    private static func run(
        _ capability: IOCapability = .displayYesNo, offers: Set<ClassicProfile> = Set(all),
        _ body: @escaping (ClassicHosts, Told) async throws -> Void
    ) throws {
        try ClassicHosts.run(seed: 11, [settings(capability), settings(capability)]) { hosts in
            let told = Told()
            for host in [hosts.near, hosts.far] {
                var dialogue = PairingDialogue.unattended(accepts: true)
                dialogue.compare = { _, _, answer in
                    told.questions += 1
                    answer(true)
                }
                host.pairingDialogue = dialogue
            }
            try await hosts.far.acceptBridging(offers, named: "accessory") { session in
                told.session = session
                session.steps.add { told.accessory.append($0) }
            }
            try await body(hosts, told)
        }
    }

    private static func bridge(_ hosts: ClassicHosts, _ told: Told, _ profiles: [ClassicProfile] = all) async throws -> Bridge {
        try await hosts.near.connect(to: hosts.far.address, bridging: profiles) { told.phone.append($0) }
    }

    /// The accessory scans for pages only after the first page has timed out, which takes 5.12 s.
    @Test func aPageThatWasNotAnsweredIsRepeated() throws {
        try Self.run { hosts, told in
            try await hosts.far.setScan(isDiscoverable: false, isConnectable: false)
            hosts.loop.schedule(after: .milliseconds(6_500)) {
                hosts.far.commands.post(HCICommands.WriteScanEnable(scanEnable: 2))
            }
            let began = hosts.loop.now
            let bridge = try await Self.bridge(hosts, told, [.hfp])
            #expect(bridge.failures.isEmpty && (hosts.loop.now - began).seconds > 6.5)
            #expect(told.phone.filter { Self.name($0) == "paged" }.count == 1)
        }
    }

    /// Each step occurs once and in order, and no user is asked twice.
    @Test(arguments: [
        (IOCapability.displayYesNo, 2, SecurityMode4Level.secureConnections, LinkKeyType.authenticatedCombinationP256),
        (.noInputNoOutput, 0, .unauthenticated, .unauthenticatedCombinationP256),
    ])
    func onePairingBringsUpEverything(_ row: (IOCapability, Int, SecurityMode4Level, LinkKeyType)) throws {
        try Self.run(row.0) { hosts, told in
            let bridge = try await Self.bridge(hosts, told)
            #expect(bridge.failures.isEmpty && told.questions == row.1)
            let beginning = told.phone.prefix { if case .profile = $0 { false } else { true } }
            #expect(beginning.map(Self.name) == ["connected", "paired", "key", "paged", "secured"])
            #expect(beginning.suffix(3).first == .hasLinkKey(row.3) && beginning.last == .secured(row.2))
            let steps = told.phone.compactMap { if case .profile(let step) = $0 { step } else { nil } }
            #expect(steps.prefix(3) == [.found(.a2dp), .found(.hfp), .found(.avrcp)] && steps.last == .finished)
            #expect([ProfileStep.mediaOpen, .streaming, .serviceLevelConnection, .codec(.mSBC)].allSatisfy(steps.contains))
            #expect(steps.contains(.remoteControl(.volume(0x40))))
            try await hosts.loop.sleep(for: .seconds(1))
            #expect([ProfileStep.mediaOpen, .streaming, .serviceLevelConnection, .codec(.mSBC)].allSatisfy(told.accessory.contains))
            let audio = ProfileStep.audio(.mSBC, isExtended: true)
            #expect(told.accessory.contains(audio) && bridge.profiles.hasAudio)
            #expect(bridge.classic.peer == bridge.connection.peer && bridge.classic.securityLevel == row.2)
        }
    }

    private static func name(_ step: BridgeStep) -> String {
        switch step {
        case .connected: "connected"
        case .paired: "paired"
        case .encrypted: "encrypted"
        case .hasLinkKey: "key"
        case .paged: "paged"
        case .secured: "secured"
        case .downgraded: "downgraded"
        case .profile: "profile"
        }
    }

    /// Audio streams in real time and is counted at the other end; it is suspended and restarted, and keys are pressed.
    @Test func mediaFlow() throws {
        try Self.run { hosts, told in
            let phone = try await Self.bridge(hosts, told).profiles
            let accessory = try #require(told.session)
            let begin = phone.mediaSent
            try await hosts.loop.sleep(for: .seconds(2))
            // Five frames of 128 samples fit into a packet of 672 octets.
            #expect(abs(phone.mediaSent - begin - 2 * 44_100 / 640) <= 1)
            phone.setStreaming(false)
            try await hosts.loop.sleep(for: .seconds(1))
            let sent = phone.mediaSent
            #expect(!phone.isStreaming && !accessory.isStreaming && told.accessory.last == .suspended)
            #expect(accessory.sink?.packets == sent && accessory.sink?.lost == 0 && accessory.sink?.malformed == 0)
            #expect(phone.mediaDropped == 0 && accessory.coding == phone.coding)
            phone.setStreaming(true)
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(phone.mediaSent > sent + 60 && accessory.isStreaming)
            phone.press(.volumeUp)
            accessory.press(.pause)
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(told.accessory.suffix(2) == [.key(.volumeUp, isPressed: true), .key(.volumeUp, isPressed: false)])
        }
    }

    /// mSBC frames are sent in both directions over eSCO in real time, concurrently with music. Link and profiles remain after the audio
    /// connection is closed.
    @Test func voiceFlows() throws {
        try Self.run { hosts, told in
            let phone = try await Self.bridge(hosts, told).profiles
            let accessory = try #require(told.session)
            try await hosts.loop.sleep(for: .seconds(3))
            try await phone.endAudio()
            try await hosts.loop.sleep(for: .milliseconds(100))
            #expect(told.accessory.last == .audioEnded(.mSBC) && !phone.hasAudio && !accessory.hasAudio)
            for (one, other) in [(phone, accessory), (accessory, phone)] {
                let (sent, taken) = (try #require(one.voice), try #require(other.voice))
                // Three seconds of 7.5 ms, and what pipes that are read late add or hold back.
                #expect((370...430).contains(sent.framesSent) && one.voicePacketsSent == sent.framesSent)
                #expect(taken.framesReceived >= sent.framesSent - 30 && taken.framesReceived <= sent.framesSent)
                #expect(taken.framesLost == 0 && taken.malformed == 0 && other.voicePacketsDoubtful == 0)
            }
            #expect(phone.isStreaming && accessory.sink?.lost == 0)
        }
    }

    /// The bond is used on both transports at the next connection: no pairing and no question.
    @Test func bondedDevicesBridgeAgain() throws {
        try Self.run { hosts, told in
            let first = try await Self.bridge(hosts, told)
            try await first.classic.disconnect()
            try await first.connection.disconnect()
            (told.phone, told.accessory, told.questions) = ([], [], 0)
            try await hosts.loop.sleep(for: .seconds(1))
            try await hosts.far.acceptBridging(Set(Self.all), named: "accessory")
            let second = try await Self.bridge(hosts, told)
            #expect(told.phone.prefix(5).map(Self.name) == ["connected", "encrypted", "key", "paged", "secured"])
            #expect(told.questions == 0 && second.failures.isEmpty && second.profiles.isStreaming)
        }
    }

    /// If the accessory's host stores the derived key a moment after the phone connects, the phone tries again. An accessory without the
    /// key is given up soon.
    @Test(arguments: [(300, true), (3_000, false)]) func aKeyIsStoredLate(_ row: (milliseconds: Int, isWaitedFor: Bool)) throws {
        try Self.run { hosts, told in
            let far = hosts.far
            let token = hosts.near.newClassicConnections.add { _ in
                let bonds = far.keys.all
                for bond in bonds { far.keys.remove(PeerIdentity(bond.identity)) }
                hosts.loop.schedule(after: .milliseconds(row.milliseconds)) { for bond in bonds { far.keys.add(bond) } }
            }
            defer { hosts.near.newClassicConnections.remove(token) }
            do {
                let bridge = try await Self.bridge(hosts, told)
                #expect(row.isWaitedFor && bridge.failures.isEmpty && told.questions == 2)
            } catch HostError.peer(.rejected(_, let reason)) {
                #expect(!row.isWaitedFor && reason == .pinOrKeyMissing)
                try await hosts.loop.sleep(for: .milliseconds(row.milliseconds))
            }
        }
    }

    /// If the accessory misses the CONNECT_IND, the connection is repeated, and each step is reported once.
    @Test func aPhoneThatWasNotHeardConnectsAgain() throws {
        try Self.run { hosts, told in
            var connections = 0
            let token = hosts.near.newConnections.add { _ in
                connections += 1
                if connections == 1 { hosts.far.commands.post(HCICommands.Reset()) }
            }
            defer { hosts.near.newConnections.remove(token) }
            let again = hosts.loop.start {
                try await hosts.loop.sleep(for: .milliseconds(500))
                try await hosts.far.start()
                try await hosts.far.setScan(isDiscoverable: false, isConnectable: true)
                _ = try await hosts.far.advertise(AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable)])))
            }
            let bridge = try await Self.bridge(hosts, told)
            _ = try await again.value()
            #expect(connections == 2 && bridge.failures.isEmpty && told.phone.map(Self.name).filter { $0 == "connected" }.count == 1)
        }
    }

    /// Missing profiles are reported; the others are set up.
    @Test(arguments: all) func oneProfileIsOffered(_ profile: ClassicProfile) throws {
        try Self.run(offers: [profile]) { hosts, told in
            let bridge = try await Self.bridge(hosts, told)
            #expect(bridge.failures == Self.all.filter { $0 != profile }.map { .missing($0) })
            #expect(bridge.profiles.isStreaming == (profile == .a2dp))
        }
    }

    /// A link key corrupted on one device fails.
    @Test func aCorruptedKeyFails() throws {
        try Self.run { hosts, told in
            let first = try await Self.bridge(hosts, told)
            try await first.classic.disconnect()
            try await first.connection.disconnect()
            var bond = try #require(hosts.near.keys[first.connection.peer])
            bond.linkKey?.value[0] ^= 1
            hosts.near.keys.update(bond)
            try await hosts.loop.sleep(for: .seconds(1))
            try await hosts.far.acceptBridging(Set(Self.all), named: "accessory")
            told.accessory = []
            await #expect(throws: HostError.peer(.rejected(HCICommands.AuthenticationRequested.name, .authenticationFailure))) {
                _ = try await Self.bridge(hosts, told)
            }
            #expect(told.accessory.isEmpty)
        }
    }

    /// The link is lost while everything is under way.
    @Test(arguments: [5, 40, 100, 200, 300, 600]) func aLinkThatGoesEndsEverything(milliseconds: Int) throws {
        try Self.run { hosts, told in
            hosts.near.newClassicConnections.add { link in
                hosts.loop.schedule(after: .milliseconds(milliseconds)) { [unowned link] in
                    _ = hosts.loop.start { _ = try? await link.disconnect() }
                }
            }
            do {
                let bridge = try await Self.bridge(hosts, told)
                _ = try await bridge.classic.ended()
            } catch HostError.peer {}
            try await hosts.loop.sleep(for: .seconds(2))
            #expect(hosts.near.classicConnections.isEmpty && hosts.far.classicConnections.isEmpty)
            #expect(told.session?.isStreaming != true)
        }
    }
}
