import BBBenchTesting
import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Supply of keys, genuine encryption changes, and content of bonds.
@Suite struct SecurityTests {
    private static let peer = PeerIdentity(DeviceAddress(value: 0xA0_B0C0_D0E0))
    private static let key = [UInt8](0x10..<0x20)

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bond: Bond?
        var isAnswered = false
        var level = LinkSecurity.none
    }

    static let rows = [
        Row(testDescription: "no bond"),
        Row(testDescription: "a key of that name", bond: named(), isAnswered: true, level: .encrypted),
        Row(testDescription: "an authenticated key", bond: named(isAuthenticated: true), isAnswered: true, level: .authenticated),
        Row(
            testDescription: "a key of Secure Connections", bond: named(isAuthenticated: true, isSecureConnections: true), isAnswered: true,
            level: .secureConnections),
        Row(
            testDescription: "a short key of Secure Connections", bond: named(size: 7, isAuthenticated: true, isSecureConnections: true),
            isAnswered: true, level: .authenticated),
        Row(
            testDescription: "a key of Secure Connections that is not authenticated", bond: named(isSecureConnections: true),
            isAnswered: true, level: .encrypted),
        Row(testDescription: "another diversifier", bond: named(encryptedDiversifier: 8)),
        Row(testDescription: "another random number", bond: named(randomNumber: 8)),
    ]

    private static func named(
        encryptedDiversifier: UInt16 = 7, randomNumber: UInt64 = 9, size: Int = 16, isAuthenticated: Bool = false,
        isSecureConnections: Bool = false
    ) -> Bond {
        let key = LongTermKey(key, encryptedDiversifier: encryptedDiversifier, randomNumber: randomNumber, size: size)
        return Bond(
            peer.address, localLongTermKey: key, peerLongTermKey: key, isAuthenticated: isAuthenticated,
            isSecureConnections: isSecureConnections)
    }

    /// Core Vol 4, Part E, 7.7.65.5: the peripheral's host has the key or not; encryption is accepted if it was supplied.
    @Test(arguments: rows) func aKeyIsAskedFor(_ row: Row) throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            pair.b.host.keys[Self.peer] = row.bond
            pair.b.emit(
                HCIPacket(event: HCIEvents.LELongTermKeyRequest(connectionHandle: 0x40, randomNumber: 9, encryptedDiversifier: 7)))
            try await world.loop.sleep(for: 100)
            let reply = HCICommands.LELongTermKeyRequestReply(connectionHandle: 0x40, longTermKey: Self.key)
            let refusal = HCICommands.LELongTermKeyRequestNegativeReply(connectionHandle: 0x40)
            #expect(pair.b.commands.last == (row.isAnswered ? HCIPacket(command: reply) : HCIPacket(command: refusal)))
            let before = pair.b.host.counters.malformedEvents
            pair.b.emit(HCIPacket(event: HCIEvents.EncryptionChange(connectionHandle: 0x40, encryptionEnabled: 1)))
            try await world.loop.sleep(for: 100)
            #expect(pair.peripheral.security == row.level)
            #expect(pair.peripheral.encryptionKeySize == (row.isAnswered ? row.bond?.localLongTermKey?.size : 0))
            #expect(pair.b.host.counters.malformedEvents == before + (row.isAnswered ? 0 : 1))
            pair.b.emit(HCIPacket(event: HCIEvents.EncryptionChange(connectionHandle: 0x40, encryptionEnabled: 0)))
            try await world.loop.sleep(for: 100)
            #expect(pair.peripheral.security == .none && pair.peripheral.encryptionKeySize == 0)
        }
    }

    @Test func aBondIsFoundByAnyAddressOfItsPeer() {
        let keys = KeyStore()
        var bond = Self.named()
        bond.identityResolvingKey = Self.key
        keys.add(bond)
        let irk = UInt128(littleEndianOctets: Self.key)
        #expect(keys[Self.peer] == bond)
        #expect(keys[PeerIdentity(.resolvable(irk: irk, prand: 5))] == bond)
        #expect(keys[PeerIdentity(.resolvable(irk: irk ^ 1, prand: 5))] == nil)
        #expect(keys.all == [bond])
        #expect(keys.remove(Self.peer) && !keys.remove(Self.peer) && keys.all.isEmpty)
        // A static address on the air with a public identity; an address belongs to the latest bond.
        let met = PeerIdentity(DeviceAddress(value: 0xF5_F4F3_F2F1_F0, kind: .random))
        bond.identityResolvingKey = nil
        bond.addressOnAir = met.address
        keys.add(bond)
        keys.keep(ClientRecord(features: .robustCaching), of: met)
        #expect(keys[met] == bond && keys.identity(of: met.address) == Self.peer)
        #expect(keys.client(of: met) != nil && keys.client(of: Self.peer) == keys.client(of: met))
        var other = Bond(DeviceAddress(value: 0x1B_DC00_0002))
        other.addressOnAir = met.address
        keys.add(other)
        #expect(keys[met] == other && keys[Self.peer]?.addressOnAir == nil)
        #expect(keys.remove(met) && keys.all.map(\.identity) == [Self.peer.address])
    }

    @Test func aCentralEncryptsWithTheKeyItHas() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            #expect(await failure { try await pair.central.encrypt() } == .misuse(.noKey))
            pair.a.host.keys[Self.peer] = Self.named()
            let opcode = HCICommands.LEEnableEncryption.opcode
            pair.a.script[opcode] = { _ in
                [
                    HCIPacket(statusOpcode: opcode, .success),
                    HCIPacket(event: HCIEvents.EncryptionChange(status: .pinOrKeyMissing, connectionHandle: 0x40)),
                ]
            }
            #expect(await failure { try await pair.central.encrypt() } == .peer(.rejected("LE_Enable_Encryption", .pinOrKeyMissing)))
            #expect(pair.central.security == .none)
            pair.a.script[opcode] = { _ in
                [
                    HCIPacket(statusOpcode: opcode, .success),
                    HCIPacket(event: HCIEvents.EncryptionChange(connectionHandle: 0x40, encryptionEnabled: 1)),
                ]
            }
            try await pair.central.encrypt()
            #expect(pair.central.security == .encrypted)
        }
    }

    struct ReturnRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isBonded: Bool
        /// Links on which the key of the bond is used: 1 the first, 2 the next.
        var encrypted: Set<Int> = [1, 2]
        /// Address type with which the client returns.
        var type: AddressType
        var address: BDADDR
        var configuration: UInt16
    }

    static let returns = [
        ReturnRow(
            testDescription: "a stranger", isBonded: false, encrypted: [], type: .publicDevice, address: 0xA0_B0C0_D0E0, configuration: 0),
        ReturnRow(testDescription: "a bonded client", isBonded: true, type: .publicDevice, address: 0xA0_B0C0_D0E0, configuration: 1),
        ReturnRow(
            testDescription: "its address, in clear", isBonded: true, encrypted: [1], type: .publicDevice, address: 0xA0_B0C0_D0E0,
            configuration: 0),
        ReturnRow(
            testDescription: "a bonded client that subscribed in clear", isBonded: true, encrypted: [2], type: .publicDevice,
            address: 0xA0_B0C0_D0E0, configuration: 0),
        ReturnRow(
            testDescription: "a bonded client under a private address", isBonded: true, type: .publicIdentity, address: 0xA0_B0C0_D0E0,
            configuration: 1),
        ReturnRow(
            testDescription: "the same number as a random address", isBonded: true, encrypted: [1], type: .randomDevice,
            address: 0xA0_B0C0_D0E0,
            configuration: 0),
        ReturnRow(
            testDescription: "somebody else", isBonded: true, encrypted: [1], type: .publicDevice, address: 0xA0_B0C0_D0E1, configuration: 0
        ),
    ]

    /// The central encrypts with the key of the bond.
    private static func encrypt(_ pair: Pair, _ handle: ConnectionHandle, _ loop: RunLoop) async throws {
        pair.b.emit(HCIPacket(event: HCIEvents.LELongTermKeyRequest(connectionHandle: handle, randomNumber: 9, encryptedDiversifier: 7)))
        try await loop.sleep(for: 100)
        pair.b.emit(HCIPacket(event: HCIEvents.EncryptionChange(connectionHandle: handle, encryptionEnabled: 1)))
        try await loop.sleep(for: 100)
    }

    /// Core Vol 3, Part G, 3.3.3.3: a bonded client's configuration persists, since the key proves its identity; without a bond it is reset
    /// at disconnection.
    @Test(arguments: returns) func aSubscriptionBelongsToTheClient(_ row: ReturnRow) throws {
        try World.run { world in
            let pair = try await Pair.make(world, database: ATTServerTests.database())
            if row.isBonded { pair.b.host.keys[Self.peer] = Self.named() }
            if row.encrypted.contains(1) { try await Self.encrypt(pair, 0x40, world.loop) }
            try await pair.central.gatt.write(18, [1, 0])
            #expect(pair.peripheral.configuration(of: 17) == 1)
            try await pair.peripheral.disconnect()
            pair.b.emit(
                HCIPacket(
                    event: HCIEvents.LEConnectionComplete(
                        connectionHandle: 0x41, role: .peripheral, peerAddressType: row.type, peerAddress: row.address,
                        connectionInterval: 24, supervisionTimeout: 200)))
            let again = try await pair.b.host.nextIncomingConnection()
            #expect(again.configuration(of: 17) == 0)
            if row.encrypted.contains(2) { try await Self.encrypt(pair, 0x41, world.loop) }
            #expect(again.configuration(of: 17) == row.configuration)
            #expect(again.tryNotify(17, [1]) == (row.configuration == 1 ? .sent : .notSubscribed))
        }
    }
}
