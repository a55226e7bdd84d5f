import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// A peripheral sends a Security Request, and the central requests the same. Core Vol 3, Part H, 2.4.6.
@Suite struct AskedPairingTests {
    /// The central's question to its user is pending, or the pairing is under way, when the central requests it.
    @Test(arguments: [0, 300]) func aCentralTakesPartInThePairingThatWasAskedFor(milliseconds: Int) throws {
        try SimulatedHosts.run { world in
            (world.central.pairingSettings, world.peripheral.pairingSettings) = (PairingSettings(), PairingSettings())
            var questions: [(Bool) -> Void] = []
            world.central.pairingDialogue.consent = { questions.append($1) }
            world.peripheral.pairingDialogue.consent = { $1(true) }
            let (central, peripheral) = try await world.link()
            let asked = world.loop.start { try await peripheral.pair() }
            while questions.isEmpty { try await world.loop.sleep(for: .milliseconds(10)) }
            if milliseconds > 0 {
                questions[0](true)
                try await world.loop.sleep(for: .milliseconds(milliseconds))
            }
            let result = try await central.pair()
            // A late reply is ignored.
            questions[0](false)
            #expect(result.model == .justWorks && result.isBonded && central.security == .encrypted)
            #expect(try await asked.value().isBonded && questions.count == 1)
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bond: Bond?
        /// True if the link is already encrypted with the key of the bond.
        var isEncrypted = false
        var asked: AuthReq = []
        var isEncryptedAnew: Bool
    }

    private static let key = LongTermKey([UInt8](1...16))
    private static func bond(isAuthenticated: Bool = false) -> Bond {
        Bond(PairingLab.peripheral, peerLongTermKey: key, isAuthenticated: isAuthenticated, isSecureConnections: true)
    }

    static let rows = [
        Row(testDescription: "no bond", isEncryptedAnew: false),
        Row(testDescription: "a bond", bond: bond(), isEncryptedAnew: true),
        Row(testDescription: "a bond that is worth less", bond: bond(), asked: .mitm, isEncryptedAnew: false),
        Row(testDescription: "a bond that is worth enough", bond: bond(isAuthenticated: true), asked: .mitm, isEncryptedAnew: true),
        Row(testDescription: "a link with the key of the bond", bond: bond(), isEncrypted: true, asked: .mitm, isEncryptedAnew: true),
    ]

    /// A host that does not pair has nothing to reject if it has the key.
    @Test(arguments: rows) func aHostThatDoesNotPairEncryptsWithTheKeyItHas(_ row: Row) {
        var setup = PairingLab(nil, nil)[.central].setup
        setup.bond = row.bond
        var manager = SecurityManager()
        if row.isEncrypted {
            _ = manager.encryptionKey(of: row.bond)
            _ = manager.encryptionChanged(isOn: true, setup, at: 0)
        }
        let actions = manager.received([SMP.SecurityRequest.opcode, row.asked.rawValue], setup, at: 0)
        let refusal = SecurityAction.send(SMP.PairingFailed(reason: .pairingNotSupported).bytes)
        #expect(actions == [row.isEncryptedAnew ? .encrypt(Self.key) : refusal])
        #expect(manager.isEncrypting == row.isEncryptedAnew)
    }

    /// The bond is found by the address on the air, on the same and on the next link, and by the identity address.
    @Test(arguments: [false, true]) func aStaticAddressThatTellsAPublicIdentityIsFoundAgain(asIdentity: Bool) throws {
        let met = DeviceAddress(value: 0xF5_F4F3_F2F1_F0, kind: .random)
        try SimulatedHosts.run { world in
            let identity = SimulatedHosts.peripheralAddress
            world.peripheral.pairingSettings = PairingSettings()
            world.peripheral.pairingDialogue.consent = { $1(true) }
            var settings = AdvertisingSettings()
            (settings.ownAddressType, settings.randomAddress) = (.randomDevice, met)
            _ = try await world.peripheral.advertise(settings)
            let first = try await world.central.connect(to: met)
            let result = try await first.pair()
            #expect(result.peer == PeerIdentity(identity) && first.bond?.identity == identity)
            #expect(first.bond?.addressOnAir == met && world.central.keys.all.count == 1)
            // Time for a key refresh.
            try await world.loop.sleep(for: .milliseconds(500))
            try await first.encrypt()
            try await first.disconnect()
            // The identity has no IRK, so no private address can be resolved.
            var bond = try #require(world.central.keys[PeerIdentity(met)])
            bond.identityResolvingKey = nil
            world.central.keys.add(bond)
            try await world.loop.sleep(for: .milliseconds(100))
            _ = try await world.peripheral.advertise(settings)
            let second = try await world.central.connect(to: asIdentity ? identity : met)
            #expect(second.bond?.identity == identity && second.peer.address == met)
            try await second.encrypt()
            #expect(second.security == .encrypted && world.central.links(to: PeerIdentity(identity)).count == 1)
        }
    }
}
