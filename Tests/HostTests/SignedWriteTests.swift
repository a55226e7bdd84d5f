import BBBenchTesting
import BBMisbehaviour
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Core Vol 3, Part F, 3.4.5.4 and Part H, 2.4.5: a signed write is executed if the signature is valid and was not used before.
@Suite struct SignedWriteTests {
    private static let address = DeviceAddress(value: 0xA0_B0C0_D0E0)
    private static let key = [UInt8](0x30..<0x40)

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Lowest counter accepted by the server, and the client's next counter.
        var counters: (server: UInt32, client: UInt32) = (0, 0)
        var serverKey: [UInt8]? = SignedWriteTests.key
        var isAuthenticated = false
        var permissions: AttributePermissions = [.write, .writeSigned]
        /// Index of an octet that is corrupted in transit.
        var broken: Int?
        var isWritten = true
    }

    static let rows = [
        Row(testDescription: "the first"), Row(testDescription: "the next", counters: (7, 7)),
        Row(testDescription: "some were lost", counters: (7, 9)),
        Row(testDescription: "a counter of before", counters: (8, 7), isWritten: false),
        Row(testDescription: "the last counter", counters: (0, .max - 1)),
        Row(testDescription: "another key", serverKey: [UInt8](0..<16), isWritten: false),
        Row(testDescription: "no key", serverKey: nil, isWritten: false),
        Row(testDescription: "another value", broken: 3, isWritten: false),
        Row(testDescription: "another signature", broken: 12, isWritten: false),
        Row(testDescription: "another counter", broken: 5, isWritten: false),
        Row(testDescription: "a signature is no encryption", permissions: [.write, .writeEncrypted], isWritten: false),
        Row(testDescription: "a signature of strangers", permissions: [.write, .writeSigned, .writeAuthenticated], isWritten: false),
        Row(
            testDescription: "an authenticated signature", isAuthenticated: true, permissions: [.write, .writeSigned, .writeAuthenticated]),
    ]

    @Test(arguments: rows) func aSignedWrite(_ row: Row) throws {
        try World.run { world in
            let database = GATTDatabase()
            let value = database.add(
                ServiceDefinition(
                    0xFFF0, characteristics: [CharacteristicDefinition(0xFFF1, properties: .signedWrite, permissions: row.permissions)])
            ).characteristics[0].value
            let pair = try await Pair.make(world, database: database)
            var given = Bond(Self.address, isAuthenticated: row.isAuthenticated)
            given.localSigningKey = SigningKey(Self.key, counter: row.counters.client)
            pair.a.host.keys.add(given)
            var kept = Bond(Self.address, isAuthenticated: row.isAuthenticated)
            kept.peerSigningKey = row.serverKey.map { SigningKey($0, counter: row.counters.server) }
            pair.b.host.keys.add(kept)
            if let broken = row.broken {
                pair.a.host.quirks.rewrites = PacketRules([try PacketRewrite(.att, "ATT_SIGNED_WRITE_CMD", .corrupt(octet: broken))])
            }
            try await pair.central.gatt.signedWrite(value, [0x55])
            try await world.loop.sleep(for: .milliseconds(1))
            #expect(database[value] == (row.isWritten ? [0x55] : []))
            #expect(pair.a.host.keys.all[0].localSigningKey?.counter == row.counters.client + 1)
            let lowest = row.isWritten ? row.counters.client + 1 : row.counters.server
            if row.serverKey != nil, row.isWritten || row.permissions.contains(.writeSigned), !row.permissions.contains(.writeAuthenticated)
            {
                #expect(pair.b.host.keys.all[0].peerSigningKey?.counter == lowest)
            }
            // Replaying the same PDU changes nothing.
            guard row.isWritten, var replayed = pair.a.data.last else { return }
            database[value] = []
            replayed.bytes[1] |= 0x20
            pair.b.emit(replayed)
            try await world.loop.sleep(for: .milliseconds(1))
            #expect(database[value] == [])
        }
    }

    @Test func anUnsignedWriteIsRefusedAndAKeyHasAnEnd() throws {
        try World.run { world in
            let database = GATTDatabase()
            let value = database.add(
                ServiceDefinition(
                    0xFFF0,
                    characteristics: [
                        CharacteristicDefinition(0xFFF1, properties: [.signedWrite, .write], permissions: [.write, .writeSigned])
                    ])
            ).characteristics[0].value
            let pair = try await Pair.make(world, database: database)
            #expect(
                await failure { try await pair.central.gatt.write(value, [1]) }
                    == .peer(.att(request: .attWriteReq, handle: value, .insufficientAuthentication)))
            #expect(await failure { try await pair.central.gatt.signedWrite(value, [1]) } == .misuse(.noKey))
            var bond = Bond(Self.address)
            bond.localSigningKey = SigningKey(Self.key, counter: .max)
            pair.a.host.keys.add(bond)
            #expect(await failure { try await pair.central.gatt.signedWrite(value, [1]) } == .misuse(.noKey))
        }
    }
}
