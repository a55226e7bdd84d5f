import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// A bonded peer on a link in clear. Core Vol 3, Part C, 10.3.2.
@Suite struct LostBondTests {
    private final class Seen {
        var losses = 0
        var consents = 0
        var values: [AttributeValueKind] = []
    }

    /// The hosts pair, part, and meet again.
    private static func meetAgain(_ world: SimulatedHosts) async throws -> (central: Connection, peripheral: Connection) {
        (world.central.pairingSettings, world.peripheral.pairingSettings) = (PairingSettings(), PairingSettings())
        let first = try await world.link()
        try await first.central.pair()
        try await world.loop.sleep(for: .seconds(1))
        try await first.central.disconnect()
        return try await world.link()
    }

    private static func watch(_ link: Connection, _ seen: Seen) {
        link.events.add { if $0 == .bondLost { seen.losses += 1 } }
    }

    @Test func aCentralIsToldThatItsKeyIsGone() throws {
        try SimulatedHosts.run { world in
            let (central, _) = try await Self.meetAgain(world)
            for bond in world.peripheral.keys.all { world.peripheral.keys.remove(PeerIdentity(bond.identity)) }
            let seen = Seen()
            Self.watch(central, seen)
            #expect(await failure { try await central.encrypt() } == .peer(.rejected("LE_Enable_Encryption", .pinOrKeyMissing)))
            #expect(seen.losses == 1)
        }
    }

    @Test(arguments: [true, false]) func aPeripheralAsksItsUserBeforeAnotherBond(agrees: Bool) throws {
        try SimulatedHosts.run { world in
            let (_, peripheral) = try await Self.meetAgain(world)
            for bond in world.central.keys.all { world.central.keys.remove(PeerIdentity(bond.identity)) }
            let seen = Seen()
            Self.watch(peripheral, seen)
            world.peripheral.pairingDialogue = PairingDialogue(enterPasskey: { $1(nil) }, compare: { $2(false) }) { _, answer in
                seen.consents += 1
                answer(agrees)
            }
            if agrees {
                #expect(try await peripheral.pair().level == .encrypted)
            } else {
                #expect(await failure { try await peripheral.pair() } == .peer(.pairingRefused(.pairingNotSupported)))
            }
            #expect(seen.losses == 1 && seen.consents == 1)
        }
    }

    /// A pairing for more than the bond has is no loss of the bond.
    @Test func aStrongerPairingIsNoLoss() throws {
        try SimulatedHosts.run { world in
            let (_, peripheral) = try await Self.meetAgain(world)
            let seen = Seen()
            Self.watch(peripheral, seen)
            var settings = PairingSettings()
            settings.asksForMITM = true
            #expect(try await peripheral.pair(settings).level == .encrypted)
            #expect(seen.losses == 0)
        }
    }

    @Test(arguments: [false, true]) func valuesOfABondedServerAwaitEncryption(takesValuesInClear: Bool) throws {
        try SimulatedHosts.run { world in
            let (central, peripheral) = try await Self.meetAgain(world)
            world.peripheral.quirks.notifiesUnasked = true
            world.central.quirks.takesValuesInClear = takesValuesInClear
            let seen = Seen()
            central.gatt.otherValues.add { kind, _, _ in seen.values.append(kind) }
            try await peripheral.notify(3, [1])
            // It is confirmed.
            try await peripheral.indicate(3, [1])
            #expect(seen.values == (takesValuesInClear ? [.notification, .indication] : []))
            seen.values = []
            try await central.encrypt()
            try await peripheral.notify(3, [1])
            try await peripheral.indicate(3, [1])
            #expect(seen.values == [.notification, .indication])
        }
    }

    @Test func valuesOfAServerWithoutABondAreTaken() throws {
        try SimulatedHosts.run { world in
            let (central, peripheral) = try await world.link()
            world.peripheral.quirks.notifiesUnasked = true
            let seen = Seen()
            central.gatt.otherValues.add { kind, _, _ in seen.values.append(kind) }
            try await peripheral.notify(3, [1])
            try await peripheral.indicate(3, [1])
            #expect(seen.values == [.notification, .indication])
        }
    }
}
