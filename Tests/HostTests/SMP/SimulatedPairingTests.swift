import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Our host pairs with our host over the simulated air, and a user sits in front of both.
@Suite struct SimulatedPairingTests {
    /// Reads both displays and replies after two seconds.
    final class User {
        var shown: [UInt32] = []
        var compared: [UInt32] = []
        var consents = 0
        var ends = 0
        let loop: RunLoop
        init(_ loop: RunLoop) { self.loop = loop }

        var dialogue: PairingDialogue {
            var dialogue = PairingDialogue(
                showPasskey: { [self] in shown.append($1) },
                enterPasskey: { [self] _, answer in later { answer(self.shown.first ?? 123_456) } },
                compare: { [self] _, number, answer in
                    compared.append(number)
                    later { answer(self.compared.allSatisfy { $0 == number } && self.compared.count == 2) }
                },
                consent: { [self] _, answer in
                    consents += 1
                    later { answer(true) }
                })
            dialogue.ended = { [self] _ in ends += 1 }
            return dialogue
        }

        private func later(_ action: @escaping () -> Void) { loop.schedule(after: .seconds(2), action) }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var central = PairingSettings()
        var peripheral = PairingSettings()
        var model: AssociationModel
        var level: LinkSecurity
        var keySize = 16
        var isAskedByPeripheral = false
        var usesOutOfBand = false
    }

    static let capabilities: [Row] = (0..<50).map { number in
        let (initiator, responder, isSecureConnections) = (number % 5, number / 5 % 5, number >= 25)
        var row = Row(testDescription: "", model: .passkeyEntry, level: isSecureConnections ? .secureConnections : .authenticated)
        row.central.ioCapability = IOCapability(UInt8(initiator))
        row.peripheral.ioCapability = IOCapability(UInt8(responder))
        row.testDescription = "\(row.central.ioCapability) with \(row.peripheral.ioCapability), \(isSecureConnections ? "SC" : "legacy")"
        row.peripheral.asksForMITM = true
        row.central.supportsSecureConnections = isSecureConnections
        switch PairingTests.table[responder][initiator].suffix(1) {
        case "J": (row.model, row.level) = (.justWorks, .encrypted)
        case "N" where isSecureConnections: row.model = .numericComparison
        case "N" where PairingTests.table[responder][initiator].hasPrefix("j"): (row.model, row.level) = (.justWorks, .encrypted)
        default: break
        }
        return row
    }

    static let others: [Row] = {
        var short = Row(testDescription: "a key of 7 octets", model: .justWorks, level: .encrypted, keySize: 7)
        short.peripheral.maximumKeySize = 7
        var legacyShort = Row(testDescription: "legacy, a key of 9 octets", model: .justWorks, level: .encrypted, keySize: 9)
        (legacyShort.central.maximumKeySize, legacyShort.central.supportsSecureConnections) = (9, false)
        var asked = Row(testDescription: "the peripheral asks", model: .justWorks, level: .encrypted, isAskedByPeripheral: true)
        asked.central.localKeys = [.encKey, .idKey, .signKey]
        asked.peripheral.peerKeys = asked.central.localKeys
        let outOfBand = Row(testDescription: "out of band", model: .outOfBand, level: .secureConnections, usesOutOfBand: true)
        var temporaryKey = Row(testDescription: "legacy, out of band", model: .outOfBand, level: .authenticated)
        temporaryKey.central.supportsSecureConnections = false
        temporaryKey.peripheral.supportsSecureConnections = false
        temporaryKey.central.outOfBandData = OutOfBandData(temporaryKey: [UInt8](1...16))
        temporaryKey.peripheral.outOfBandData = temporaryKey.central.outOfBandData
        return [short, legacyShort, asked, outOfBand, temporaryKey]
    }()

    @Test(arguments: capabilities + others) func hostsPairAndComeBack(_ row: Row) throws {
        try SimulatedHosts.run { world in
            let user = User(world.loop)
            (world.central.pairingSettings, world.peripheral.pairingSettings) = (row.central, row.peripheral)
            (world.central.pairingDialogue, world.peripheral.pairingDialogue) = (user.dialogue, user.dialogue)
            if row.usesOutOfBand { world.peripheral.pairingSettings?.outOfBandData = world.central.makeOutOfBandData() }
            let (central, peripheral) = try await world.link()
            let others = Results()
            let asking = row.isAskedByPeripheral ? peripheral : central
            (row.isAskedByPeripheral ? central : peripheral).events.add {
                if case .paired(let result) = $0 { others.results.append(result) }
            }
            let result = try await asking.pair()
            try await world.loop.sleep(for: .seconds(1))
            for result in [result] + others.results {
                #expect(result.model == row.model && result.level == row.level && result.keySize == row.keySize && result.isBonded)
            }
            #expect(others.results.count == 1 && user.ends == 2)
            expect([central, peripheral], row.level, row.keySize)
            _ = try await central.gatt.exchangeMTU(100)
            try await central.disconnect()
            try await returns(world, row)
        }
    }

    private final class Results { var results: [PairingResult] = [] }

    private func expect(_ connections: [Connection], _ level: LinkSecurity, _ keySize: Int) {
        for connection in connections { #expect(connection.security == level && connection.encryptionKeySize == keySize) }
    }

    /// A new link starts unencrypted, and the key of the bond restores its level.
    private func returns(_ world: SimulatedHosts, _ row: Row) async throws {
        let (central, peripheral) = try await world.link()
        expect([central, peripheral], .none, 0)
        try await central.encrypt()
        try await world.loop.sleep(for: .seconds(1))
        expect([central, peripheral], row.level, row.keySize)
        // Again on the same link: the key is refreshed.
        try await central.encrypt()
        _ = try await central.gatt.read(3)
        try await central.disconnect()
        world.peripheral.keys.remove(central.host.address.identity)
        let last = try await world.link()
        #expect(await failure { try await last.central.encrypt() } == .peer(.rejected("LE_Enable_Encryption", .pinOrKeyMissing)))
        expect([last.central, last.peripheral], .none, 0)
    }

    /// A second pairing on the same link replaces its key.
    @Test func aLinkIsPairedAgain() throws {
        try SimulatedHosts.run { world in
            let user = User(world.loop)
            (world.central.pairingSettings, world.peripheral.pairingSettings) = (PairingSettings(), PairingSettings())
            let (central, peripheral) = try await world.link()
            try await central.secure(to: .encrypted)
            let first = world.central.keys[central.peer]
            #expect(user.consents == 0 && central.security == .encrypted)
            var stronger = PairingSettings()
            stronger.ioCapability = .displayYesNo
            (world.central.pairingSettings, world.peripheral.pairingSettings) = (stronger, stronger)
            (world.central.pairingDialogue, world.peripheral.pairingDialogue) = (user.dialogue, user.dialogue)
            try await central.secure(to: .secureConnections)
            try await world.loop.sleep(for: .seconds(1))
            expect([central, peripheral], .secureConnections, 16)
            #expect(world.central.keys[central.peer] != first && user.compared.count == 2)
            try await central.secure(to: .authenticated)
            #expect(await failure { try await central.pair(PairingSettings()) } == .peer(.pairingFailed(.authenticationRequirements)))
            _ = try await central.gatt.read(3)
        }
    }

    /// A pairing that both devices want a link key from yields one; the next one replaces it, and an LE-only pairing keeps it.
    @Test func aPairingServesBothTransports() throws {
        try SimulatedHosts.run { world in
            var settings = PairingSettings()
            settings.localKeys.insert(.linkKey)
            settings.peerKeys.insert(.linkKey)
            settings.supportsH7 = true
            (world.central.pairingSettings, world.peripheral.pairingSettings) = (settings, settings)
            let (central, peripheral) = try await world.link()
            var seen: [LinkKey?] = []
            for wantsLinkKey in [true, true, false] {
                if !wantsLinkKey { settings.localKeys.remove(.linkKey) }
                _ = try await central.pair(settings)
                try await world.loop.sleep(for: .seconds(1))
                seen.append(world.central.keys[central.peer]?.linkKey)
                #expect(world.peripheral.keys[peripheral.peer]?.linkKey == seen.last)
            }
            #expect(seen[0]?.type == .unauthenticatedCombinationP256 && seen[1] != nil && seen[1] != seen[0] && seen[2] == seen[1])
        }
    }

    struct PrivacyRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var centralHides = true
        var peripheralHides = true
        var isSecureConnections = true
    }

    static let hiding = [
        PrivacyRow(testDescription: "both hide"),
        PrivacyRow(testDescription: "both hide, legacy", isSecureConnections: false),
        PrivacyRow(testDescription: "the central hides", peripheralHides: false),
        PrivacyRow(testDescription: "the peripheral hides, legacy", centralHides: false, isSecureConnections: false),
    ]

    /// Computations use the addresses on the air, stored bonds the identity addresses. Core Vol 3, Part H, 2.2.3 and 2.4.3.
    @Test(arguments: hiding) func hostsThatHidePair(_ row: PrivacyRow) throws {
        try SimulatedHosts.run { world in
            var settings = PairingSettings()
            settings.supportsSecureConnections = row.isSecureConnections
            (world.central.pairingSettings, world.peripheral.pairingSettings) = (settings, settings)
            // A peer that distributed its IRK but uses its identity address is recognized in device privacy mode only.
            var privacy = PrivacySettings()
            privacy.isDeviceMode = true
            if row.centralHides { try await world.central.enablePrivacy(privacy) }
            if row.peripheralHides { try await world.peripheral.enablePrivacy(privacy) }
            let identities = [world.central.address, world.peripheral.address]
            _ = try await world.peripheral.advertise(AdvertisingSettings())
            let central = try await world.central.connect(to: world.peripheral.privateAddress ?? identities[1])
            let peripheral = try await world.peripheral.nextIncomingConnection(within: .seconds(1))
            #expect(peripheral.addresses.peer == world.central.privateAddress ?? identities[0])
            #expect(try await central.pair().peer == identities[1].identity)
            try await world.loop.sleep(for: .seconds(1))
            expect([central, peripheral], .encrypted, 16)
            #expect(world.peripheral.keys.all.map(\.identity) == [identities[0]])
            try await central.disconnect()
            _ = try await world.peripheral.advertise(AdvertisingSettings())
            let again = try await world.central.connect(to: identities[1])
            try await again.encrypt()
            expect([again], .encrypted, 16)
        }
    }

    /// A peripheral's Security Request while the central is already encrypting is served once.
    @Test func aRequestMeetsTheEncryptionThatItAsksFor() throws {
        try SimulatedHosts.run { world in
            (world.central.pairingSettings, world.peripheral.pairingSettings) = (PairingSettings(), PairingSettings())
            let first = try await world.link()
            try await first.central.pair()
            try await world.loop.sleep(for: .seconds(1))
            try await first.central.disconnect()
            for delay in [0, 5, 20, 40, 60, 100, 200] {
                let (central, peripheral) = try await world.link()
                let asking = world.loop.start { try await peripheral.pair() }
                try await world.loop.sleep(for: .milliseconds(delay))
                try await central.encrypt()
                let result = try await asking.value()
                #expect(result.model == nil && result.level == .encrypted && result.isBonded)
                expect([central, peripheral], .encrypted, 16)
                // On an encrypted link the key is refreshed.
                #expect(try await peripheral.pair().level == .encrypted)
                try await central.disconnect()
            }
        }
    }

    @Test func whatGoesWrongIsTold() throws {
        try SimulatedHosts.run { world in
            let (central, peripheral) = try await world.link()
            #expect(await failure { try await central.pair() } == .peer(.pairingFailed(.pairingNotSupported)))
            #expect(world.peripheral.keys.identityResolvingKey == nil, "a host that does not pair has nothing to keep")
            world.peripheral.pairingSettings = PairingSettings()
            world.peripheral.pairingDialogue = .unattended(accepts: false)
            #expect(await failure { try await central.pair() } == .peer(.pairingFailed(.pairingNotSupported)))
            // Without a reply, pairing fails after thirty seconds.
            world.peripheral.pairingDialogue = PairingDialogue(enterPasskey: { _, _ in }, compare: { _, _, _ in }, consent: { _, _ in })
            let begin = world.loop.now
            let waiting = world.loop.start { await failure { try await central.pair() } }
            try await world.loop.sleep(for: .seconds(1))
            #expect(await failure { try await central.pair() } == .misuse(.busy(.pairing)))
            #expect(await failure { try await central.encrypt() } == .misuse(.busy(.pairing)))
            #expect(try await waiting.value() == .peer(.timedOut(.pairing)))
            #expect(world.loop.now >= begin + .seconds(30) && world.loop.now < begin + .seconds(31))
            #expect(await failure { try await central.pair() } == .peer(.timedOut(.pairing)))
            #expect(peripheral.isConnected && peripheral.security == .none)
            // The end of the link ends a pairing.
            try await central.disconnect()
            let again = try await world.link()
            let other = world.loop.start { await failure { try await again.central.pair() } }
            try await world.loop.sleep(for: .seconds(1))
            try await again.peripheral.disconnect()
            #expect(try await other.value() == .peer(.disconnected(.remoteUserTerminatedConnection)))
        }
    }
}

extension DeviceAddress {
    fileprivate var identity: PeerIdentity { PeerIdentity(self) }
}
