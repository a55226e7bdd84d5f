import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Core Vol 3, Part G, 2.5.2.1: requests allowed to a change-unaware client, and how it becomes change-aware.
@Suite struct RobustCachingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isRobust = true
        /// "change" of the database, "confirm" of Service Changed, or a request and its response; `..` for any response with that opcode.
        var exchange: [(String, String)]
    }

    /// 1800: 1...5; 1801: 6, 7/8/9 Service Changed, 10/11 hash, 12/13 Client Supported Features; then one service at 14.
    static let rows = [
        Row(
            testDescription: "Database Out Of Sync once",
            exchange: [("change", ""), ("0a 0300", "01 0a 0300 12"), ("0a 0300", "0b 62"), ("0a 0300", "0b 62")]),
        Row(
            testDescription: "every request by handle",
            exchange: [
                ("change", ""), ("0c 0300 0000", "01 0c 0300 12"), ("change", ""), ("0e 0300 0500", "01 0e 0300 12"), ("change", ""),
                ("20 0300 0500", "01 20 0300 12"), ("change", ""), ("12 0d00 01", "01 12 0d00 12"), ("change", ""),
                ("16 0d00 0000 01", "01 16 0d00 12"), ("change", ""), ("08 0100 0500 002a", "01 08 0100 12"),
            ]),
        Row(
            testDescription: "searches go on, and do not make aware",
            exchange: [
                ("change", ""), ("10 0100 ffff 0028", "11 .."), ("06 0100 ffff 0028 0018", "07 .."), ("04 0100 0500", "05 .."),
                ("08 0100 0500 0328", "09 .."), ("08 0100 0500 0228", "01 08 0100 0a"), ("02 1700", "03 .."), ("0a 0300", "01 0a 0300 12"),
            ]),
        Row(
            testDescription: "the hash, and then another request",
            exchange: [("change", ""), ("08 0100 ffff 2a2b", "09 .."), ("0a 0300", "0b 62"), ("0a 0300", "0b 62")]),
        Row(
            testDescription: "the hash is old by then",
            exchange: [("change", ""), ("08 0100 ffff 2a2b", "09 .."), ("change", ""), ("0a 0300", "01 0a 0300 12")]),
        Row(testDescription: "Service Changed is confirmed", exchange: [("change", ""), ("confirm", ""), ("0a 0300", "0b 62")]),
        Row(
            testDescription: "a client that keeps nothing", isRobust: false,
            exchange: [("change", ""), ("0a 0300", "0b 62"), ("52 1000 aa", ""), ("0a 1000", "0b aa")]),
        Row(
            testDescription: "commands are ignored",
            exchange: [("change", ""), ("52 1000 aa", ""), ("0a 1000", "01 0a 1000 12"), ("0a 1000", "0b")]),
        Row(
            testDescription: "a prepared attribute is removed",
            exchange: [("16 1000 0000 aa", "17 1000 0000 aa"), ("remove", ""), ("18 01", "01 18 1000 12"), ("18 01", "19")]),
        Row(
            testDescription: "features are declared, and stay", isRobust: false,
            exchange: [
                ("0a 0d00", "0b 00"), ("12 0d00 fd", "13"), ("0a 0d00", "0b 05"), ("12 0d00 04", "01 12 0d00 13"), ("12 0d00 0700", "13"),
                ("12 0d00", "01 12 0d00 0d"), ("0a 0d00", "0b 07"),
            ]),
    ]

    @Test(arguments: rows) func aChangedDatabase(_ row: Row) throws {
        let database = GATTDatabase(deviceName: "b")
        database.add(
            ServiceDefinition(0xFFF0, characteristics: [CharacteristicDefinition(0xFFF1, properties: [.read, .writeWithoutResponse])]))
        let server = ATTServerTests.server(database)
        if row.isRobust { _ = server.receive(octets("12 0d00 01").span.bytes, from: AttributeAccess()) }
        for (request, response) in row.exchange {
            switch request {
            case "change": server.client.awareness.databaseChanged()
            case "confirm": server.client.awareness.confirmed()
            case "remove": database.remove(try #require(database.services.last))
            default:
                let answer = server.receive(octets(request).span.bytes, from: AttributeAccess()).map(hex) ?? ""
                let expected = response.hasSuffix(" ..") ? String(response.dropLast(3)) : hex(octets(response))
                #expect(response.hasSuffix(" ..") ? answer.hasPrefix(expected) : answer == expected, "\(request)")
            }
        }
    }
}

/// The same between two bonded hosts, over several connections. Core Vol 3, Part G, 2.5.2 and 7.1, and Part C, 10.3.1.1.
@Suite struct BondedCachingTests {
    private static let open: BluetoothUUID = 0xFFF1
    private static let protected: BluetoothUUID = 0xFFF2

    private static func database() -> GATTDatabase {
        let database = GATTDatabase(deviceName: "peripheral")
        var characteristic = CharacteristicDefinition(protected, properties: [.read, .notify], permissions: [.read, .readEncrypted])
        characteristic.configurationPermissions = [.read, .write, .writeEncrypted]
        database.add(
            ServiceDefinition(0xFFF0, characteristics: [CharacteristicDefinition(open, properties: [.read, .notify]), characteristic]))
        return database
    }

    private final class Requests { var count = 0 }

    /// The first PDU from a client, and what the server then sent it.
    private final class Beginning {
        var opcode: UInt8?
        var sent: SendResult?
    }

    /// The discovered database and the number of requests.
    private func discover(_ link: Connection) async throws -> (database: RemoteDatabase, requests: Int) {
        let requests = Requests()
        let token = link.pduObservers.add { direction, cid, pdu in
            if direction == .sent, cid == CID.att, pdu.u8(at: 0) != ATT.HandleValueCfm.opcode { requests.count += 1 }
        }
        let found = try await link.gatt.discoverDatabase()
        link.pduObservers.remove(token)
        return (found, requests.count)
    }

    @Test func aBondedClientComesBackToAServerThatHasChanged() throws {
        try SimulatedHosts.run(database: Self.database()) { world in
            world.peripheral.pairingSettings = PairingSettings()
            let (first, server) = try await world.link()
            try await first.pair()
            let found = try await first.gatt.discoverDatabase()
            try await first.gatt.enableCaching(of: found)
            for uuid in [Self.open, Self.protected] { try await first.gatt.subscribe(try #require(found[uuid])) { _, _, _ in } }
            #expect(try await discover(first) == (found, 1))
            let (open, protected) = (try #require(found[Self.open]).value, try #require(found[Self.protected]).value)
            #expect(server.tryNotify(open, [1]) == .sent && server.tryNotify(protected, [1]) == .sent)
            try await first.disconnect()
            _ = try await server.ended()

            // Nothing has changed. Subscribed values wait for encryption, which proves the client's identity.
            let (second, again) = try await world.link()
            #expect(again.tryNotify(open, [1]) == .notSubscribed && again.tryNotify(protected, [1]) == .notSubscribed)
            #expect(second.remoteDatabase == nil)
            try await second.encrypt()
            try await world.loop.sleep(for: .milliseconds(200))
            #expect(again.isChangeAware && again.tryNotify(open, [1]) == .sent && again.tryNotify(protected, [1]) == .sent)
            #expect(try await discover(second) == (found, 1))
            try await second.disconnect()
            _ = try await again.ended()

            // A change while the client is disconnected: no values until it has confirmed Service Changed.
            let added = world.peripheral.database.add(ServiceDefinition(0x180F))
            let (third, changed) = try await world.link()
            let beginning = Beginning()
            changed.pduObservers.add { direction, cid, pdu in
                guard direction == .received, cid == CID.att, beginning.opcode == nil else { return }
                (beginning.opcode, beginning.sent) = (pdu.u8(at: 0), changed.tryNotify(open, [1]))
            }
            try await third.encrypt()
            let refusal = await failure { _ = try await third.gatt.read(open) }
            // Which of them the server takes first is left to the pipes; until then the client gets no value.
            #expect(beginning.sent == .outOfSync && [ATT.ReadReq.opcode, ATT.HandleValueCfm.opcode].contains(beginning.opcode))
            let outOfSync = HostError.peer(.att(request: .attReadReq, handle: open, .databaseOutOfSync))
            #expect(refusal == (beginning.opcode == ATT.ReadReq.opcode ? outOfSync : nil))
            #expect(third.remoteDatabase == nil)
            try await world.loop.sleep(for: .milliseconds(500))
            #expect(changed.isChangeAware && changed.tryNotify(protected, [1]) == .sent)
            #expect(try await third.gatt.discoverDatabase().services.last?.service.handle == added.handle)
            #expect(third.remoteDatabase != nil)

            // A change while it is connected.
            world.peripheral.database.remove(added)
            try await world.loop.sleep(for: .milliseconds(500))
            #expect(third.remoteDatabase == nil && changed.isChangeAware)
            #expect(try await third.gatt.discoverDatabase() == found)
        }
    }
}
