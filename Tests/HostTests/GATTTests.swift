import BBBenchTesting
import BBMisbehaviour
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Client and server over two hosts; the database is that of `ATTServerTests`.
@Suite struct GATTTests {
    private func pair(_ world: World) async throws -> Pair { try await Pair.make(world, database: ATTServerTests.database()) }

    @Test(arguments: [23, 64, 247, 517]) func everythingIsFound(mtu: Int) throws {
        try World.run { world in
            let pair = try await pair(world)
            let gatt = pair.central.gatt
            if mtu > 23 { #expect(try await gatt.exchangeMTU(mtu) == mtu) }
            #expect(pair.peripheral.mtu == mtu)
            let services = try await gatt.discoverServices()
            #expect(services.map(\.uuid) == [0x1800, 0x1801, 0xFFF0])
            #expect(services.map(\.handle) == [1, 6, 12])
            #expect(try await gatt.discoverServices(uuid: 0xFFF0) == [services[2]])
            #expect(try await gatt.discoverServices(uuid: 0x1234) == [])
            #expect(try await gatt.discoverIncludedServices(in: services[2]).map(\.uuid) == [0x1800])
            let characteristics = try await gatt.discoverCharacteristics(in: services[2])
            #expect(characteristics.map(\.value) == [15, 17, 20, 22, 25])
            #expect(characteristics.map(\.endHandle) == [15, 18, 20, 23, 25])
            #expect(try await gatt.discoverCharacteristics(in: services[2], uuid: 0xFFF2).map(\.value) == [17])
            #expect(try await gatt.discoverDescriptors(of: characteristics[3]).map(\.uuid) == [0x2901])
            #expect(try await gatt.discoverDescriptors(from: 1, to: 0xFFFF).count == 25)
        }
    }

    @Test(arguments: [23, 61, 62, 247]) func valuesAreReadAndWritten(mtu: Int) throws {
        try World.run { world in
            let pair = try await pair(world)
            let gatt = pair.central.gatt
            if mtu > 23 { try await gatt.exchangeMTU(mtu) }
            #expect(try await gatt.readLong(15) == [UInt8](0..<60))
            #expect(try await gatt.read(3) == [UInt8]("bench".utf8))
            #expect(try await gatt.read(uuid: 0x2A00).map(\.value) == [[UInt8]("bench".utf8)])
            #expect(try await gatt.readMultiple([3, 5]) == [UInt8]("bench".utf8) + [0, 0])
            #expect(try await gatt.readMultipleVariable([3, 5]) == [[UInt8]("bench".utf8), [0, 0]])
            let value = [UInt8](100..<164)
            try await gatt.writeLong(15, value)
            #expect(pair.b.host.database[15] == value)
            try await gatt.reliableWrite([(15, [1, 2, 3]), (25, [9])])
            #expect(pair.b.host.database[15] == [1, 2, 3])
            try await gatt.writeLong(15, [7, 8], offset: 2)
            #expect(pair.b.host.database[15] == [1, 2, 7, 8])
            await #expect(throws: HostError.peer(.att(request: .attExecuteWriteReq, handle: 15, .invalidOffset))) {
                try await gatt.writeLong(15, [7], offset: 5)
            }
            await #expect(throws: HostError.peer(.att(request: .attExecuteWriteReq, handle: 15, .invalidAttributeValueLength))) {
                try await gatt.writeLong(15, [UInt8](0..<65))
            }
            try await gatt.writeCommand(15, [4])
            #expect(try await gatt.read(15) == [4])
            await #expect(throws: HostError.peer(.att(request: .attWriteReq, handle: 3, .writeNotPermitted))) {
                try await gatt.write(3, [0])
            }
            await #expect(throws: HostError.misuse(.tooLong(octets: mtu, limit: mtu - 3))) {
                try await gatt.write(15, [UInt8](repeating: 0, count: mtu))
            }
        }
    }

    /// Core Vol 3, Part F, 3.2.9.
    @Test(arguments: [515, 516, 517]) func noValueIsLongerThan512Octets(_ mtu: Int) throws {
        try World.run { world in
            let (fitting, long) = ([UInt8](repeating: 7, count: 512), [UInt8](repeating: 7, count: 513))
            let database = ATTServerTests.database()
            let service = database.add(
                ServiceDefinition(
                    0xAAAA,
                    characteristics: [
                        CharacteristicDefinition(
                            0xAAA1, properties: [.read, .write, .writeWithoutResponse, .notify, .indicate], value: long, maximumLength: 600)
                    ]))
            let pair = try await Pair.make(world, database: database)
            let (gatt, handle) = (pair.central.gatt, service.characteristics[0].value)
            #expect(try await gatt.exchangeMTU(mtu) == mtu && pair.peripheral.values.longest == 512)
            #expect(try await gatt.readLong(handle) == fitting)
            try await gatt.write(handle + 1, [3, 0])
            #expect(pair.peripheral.tryNotify(handle, long) == .tooLong && pair.peripheral.tryNotify(handle, fitting) == .sent)
            await #expect(throws: HostError.misuse(.tooLong(octets: 513, limit: 512))) { try await pair.peripheral.notify(handle, long) }
            await #expect(throws: HostError.misuse(.tooLong(octets: 513, limit: 512))) { try await pair.peripheral.indicate(handle, long) }
            await #expect(throws: HostError.misuse(.tooLong(octets: 513, limit: 512))) { try await gatt.writeCommand(handle, long) }
            #expect(gatt.tryWriteCommand(handle, long) == .tooLong && gatt.tryWriteCommand(handle, fitting) == .sent)
            // A request is sent if it fits into a PDU: its answer is the server's.
            let refusal =
                mtu > 515
                ? HostError.peer(.att(request: .attWriteReq, handle: handle, .invalidAttributeValueLength))
                : .misuse(.tooLong(octets: 513, limit: 512))
            await #expect(throws: refusal) { try await gatt.write(handle, long) }
            await #expect(throws: HostError.peer(.att(request: .attExecuteWriteReq, handle: handle, .invalidAttributeValueLength))) {
                try await gatt.writeLong(handle, long)
            }
        }
    }

    @Test func valuesAreNotifiedAndIndicated() throws {
        try World.run { world in
            let database = ATTServerTests.database()
            let service = database.add(
                ServiceDefinition(0xAAAA, characteristics: [CharacteristicDefinition(0xAAA1, properties: [.notify, .indicate])]))
            let pair = try await Pair.make(world, database: database)
            let value = service.characteristics[0].value
            #expect(pair.peripheral.tryNotify(value, [1]) == .notSubscribed)
            let characteristic = try await pair.central.gatt.discoverCharacteristics(
                in: RemoteService(uuid: service.uuid, handle: service.handle, endHandle: service.endHandle))[0]
            let seen = Answers()
            let token = try await pair.central.gatt.subscribe(characteristic) { kind, handle, value in
                seen.pdus.append([kind == .notification ? 0 : 1, UInt8(handle)] + value.octets)
            }
            #expect(pair.peripheral.tryNotify(value, [1]) == .sent)
            #expect(pair.peripheral.tryNotify(value, [UInt8](repeating: 1, count: 21)) == .tooLong)
            try await pair.peripheral.notify(value, [2, 2])
            let both = [(characteristic: value, value: [UInt8(3)]), (value, [4, 4])]
            // The client must support Multiple Handle Value Notifications.
            #expect(await failure { try await pair.peripheral.notify(both) } == .misuse(.notSubscribed(.notification)))
            #expect(pair.peripheral.bearer.client.declare(([UInt8](arrayLiteral: 4)).span.bytes) == nil)
            try await pair.peripheral.notify(both)
            #expect(await failure { try await pair.peripheral.notify(both + [(value + 1, [5])]) } == .misuse(.notSubscribed(.notification)))
            await #expect(throws: HostError.misuse(.notSubscribed(.indication))) {
                try await pair.peripheral.indicate(value, [1])
            }
            try await pair.central.gatt.subscribe(characteristic, .indication) { kind, handle, value in
                seen.pdus.append([kind == .notification ? 0 : 1, UInt8(handle)] + value.octets)
            }
            pair.central.gatt.values(of: value).remove(token)
            try await pair.peripheral.indicate(value, [5])
            #expect(seen.pdus == [[0, 28, 1], [0, 28, 2, 2], [0, 28, 3], [0, 28, 4, 4], [1, 28, 5]])
            var quirks = HostQuirks()
            quirks.neverConfirms = true
            pair.a.host.quirks = quirks
            let before = world.loop.now
            let error = await failure { try await pair.peripheral.indicate(value, [6]) }
            guard case .peer(.timedOut(_)) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(world.loop.now - before >= .seconds(30))
        }
    }

    @Test func aFloodStaysBoundedAndArrivesInOrder() throws {
        try World.run { world in
            let pair = try await pair(world)
            let gatt = pair.central.gatt
            let seen = Counter()
            gatt.otherValues.add { _, _, value in
                #expect(value.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self) == UInt32(seen.value))
                seen.value += 1
            }
            try await gatt.write(18, [1, 0])
            try await world.loop.sleep(for: 1000)
            let sent = Counter()
            let flow: () -> Void = {
                while sent.value < 1000 {
                    let value = withUnsafeBytes(of: UInt32(sent.value).littleEndian) { [UInt8]($0) }
                    guard pair.peripheral.tryNotify(17, value) == .sent else { return }
                    sent.value += 1
                }
            }
            pair.peripheral.writable.add(flow)
            flow()
            #expect(sent.value == 64 + 4)
            try await world.loop.sleep(for: .seconds(1))
            #expect(seen.value == 1000)
            #expect(pair.peripheral.queuedFragments == 0 && pair.peripheral.fragmentsInController == 0)
        }
    }

    @Test func aSilentServerTimesOutAfterThirtySecondsAndTheBearerStaysDead() throws {
        try World.run { world in
            let pair = try await pair(world)
            pair.b.swallows = { _ in true }
            let before = world.loop.now
            guard case .peer(.timedOut(_)) = await failure({ _ = try await pair.central.gatt.read(3) }) else {
                Issue.record("no time-out")
                return
            }
            #expect(world.loop.now - before == .seconds(30))
            pair.b.swallows = nil
            guard case .peer(.timedOut(_)) = await failure({ _ = try await pair.central.gatt.read(3) }) else {
                Issue.record("not dead")
                return
            }
        }
    }

    @Test func twoRequestsAtOnceAreBothAnswered() throws {
        try World.run { world in
            let pair = try await pair(world)
            let seen = Answers()
            let channel = pair.central.channel(CID.att)
            channel.handler = { seen.pdus.append($0.octets) }
            channel.trySend(octets("0a0500"))
            channel.trySend(octets("0a0500"))
            pair.central.sendFragment(boundary: .firstNonFlushable, octets("0300 0400 0a"))
            pair.central.sendFragment(boundary: .continuing, octets("0500"))
            try await world.loop.sleep(for: .milliseconds(10))
            #expect(seen.pdus == Array(repeating: [0x0B, 0, 0], count: 3))
        }
    }

    @Test func disconnectionFailsWhatIsPending() throws {
        try World.run { world in
            let pair = try await pair(world)
            pair.b.swallows = { _ in true }
            world.loop.schedule(after: .seconds(1)) {
                pair.a.emit(HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: 0x40, reason: .connectionTimeout)))
            }
            #expect(await failure { _ = try await pair.central.gatt.read(3) } == .peer(.disconnected(.connectionTimeout)))
            #expect(await failure { _ = try await pair.central.gatt.read(3) } == .peer(.disconnected(.connectionTimeout)))
        }
    }

    @Test func databaseHashChangesWithTheDatabase() throws {
        try World.run { world in
            let pair = try await pair(world)
            let first = try await pair.central.gatt.read(uuid: .databaseHash)[0].value
            #expect(first.count == 16)
            #expect(try await pair.central.gatt.readLong(11) == first)
            let generic = try await pair.central.gatt.discoverServices(uuid: .genericAttribute)[0]
            let changed = try await pair.central.gatt.discoverCharacteristics(in: generic, uuid: .serviceChanged)[0]
            let seen = Answers()
            try await pair.central.gatt.subscribe(changed, .indication) { _, _, value in seen.pdus.append(value.octets) }
            let battery = pair.b.host.database.add(ServiceDefinition(0x180F))
            try await world.loop.sleep(for: .milliseconds(10))
            #expect(battery.handle == 26 && seen.pdus == [[26, 0, 26, 0]])
            #expect(try await pair.central.gatt.read(11) != first)
        }
    }

    @Test func rewritesAndOtherMTU() throws {
        try World.run { world in
            let pair = try await pair(world)
            var quirks = HostQuirks()
            quirks.rewrites = PacketRules([
                try PacketRewrite(.att, "ATT_READ_RSP", .append([0xFF]), Occurrences(skip: 1, count: 1)),
                try PacketRewrite(.att, "ATT_WRITE_RSP", .drop),
            ])
            quirks.usedMTU = 30
            pair.b.host.quirks = quirks
            let gatt = pair.central.gatt
            #expect(try await gatt.exchangeMTU(100) == 100)
            #expect(pair.peripheral.mtu == 30)
            #expect(try await gatt.read(5) == [0, 0])
            #expect(try await gatt.read(5) == [0, 0, 0xFF])
            #expect(try await gatt.read(5) == [0, 0])
            #expect(try await gatt.readLong(15).count == 29)
            guard case .peer(.timedOut(_)) = await failure({ try await gatt.write(15, [1]) }) else {
                Issue.record("not dropped")
                return
            }
        }
    }
}
