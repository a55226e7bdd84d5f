import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Identity of the peer, listeners, and sharing of a connection by its channels.
@Suite struct ConnectionTests {
    struct AddressRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var type: AddressType
        var ownPrivate: BDADDR = 0
        var peerPrivate: BDADDR = 0
        var peer: DeviceAddress
        var isResolved = false
        var addresses: OnAirAddresses
    }

    private static let own = DeviceAddress(value: 0x0102_0304_0506)
    private static let `public` = DeviceAddress(value: 0xA1)
    private static let random = DeviceAddress(value: 0xA1, kind: .random)
    private static let ownPrivate = DeviceAddress(value: 0x4000_0000_0011, kind: .random)
    private static let peerPrivate = DeviceAddress(value: 0x4000_0000_0022, kind: .random)

    static let addressRows = [
        AddressRow(testDescription: "public", type: .publicDevice, peer: `public`, addresses: .init(own: own, peer: `public`)),
        AddressRow(testDescription: "random", type: .randomDevice, peer: random, addresses: .init(own: own, peer: random)),
        AddressRow(
            testDescription: "public identity", type: .publicIdentity, ownPrivate: 0x4000_0000_0011, peerPrivate: 0x4000_0000_0022,
            peer: `public`, isResolved: true, addresses: .init(own: ownPrivate, peer: peerPrivate)),
        AddressRow(
            testDescription: "random identity", type: .randomIdentity, peerPrivate: 0x4000_0000_0022, peer: random, isResolved: true,
            addresses: .init(own: own, peer: peerPrivate)),
    ]

    @Test(arguments: addressRows) func aPeerIsAWholeIdentity(_ row: AddressRow) throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            _ = try await fake.host.advertise(AdvertisingSettings())
            fake.emit(
                HCIPacket(
                    event: HCIEvents.LEEnhancedConnectionComplete(
                        connectionHandle: 0x40, role: .peripheral, peerAddressType: row.type, peerAddress: 0xA1,
                        localResolvablePrivateAddress: row.ownPrivate, peerResolvablePrivateAddress: row.peerPrivate,
                        connectionInterval: 24, supervisionTimeout: 200)))
            let connection = try await fake.host.nextIncomingConnection()
            #expect(connection.peer.address == row.peer && connection.peer.isResolved == row.isResolved)
            #expect(connection.peer == PeerIdentity(row.peer))
            #expect(connection.addresses == row.addresses)
        }
    }

    @Test func theSetThatEndsTellsItsAddress() throws {
        try World.run { world in
            let fake = FakeController(world)
            fake.leFeatures.insert(.leExtendedAdvertising)
            try await fake.host.start()
            let random = DeviceAddress(value: 0xC000_0000_0001, kind: .random)
            for handle: UInt8 in [0, 1] {
                var settings = AdvertisingSettings()
                settings.handle = handle
                if handle == 1 { (settings.ownAddressType, settings.randomAddress) = (.randomDevice, random) }
                _ = try await fake.host.advertise(settings)
            }
            fake.connect(role: .peripheral)
            let connection = try await fake.host.nextIncomingConnection()
            #expect(connection.addresses.own == nil)
            fake.emit(HCIPacket(event: HCIEvents.LEAdvertisingSetTerminated(advertisingHandle: 1, connectionHandle: 0x40)))
            try await world.loop.sleep(for: 10)
            #expect(connection.addresses.own == random)
        }
    }

    @Test func everybodyHearsOfAConnection() throws {
        try World.run { world in
            let log = Lines()
            let pair = try await Pair.make(world) { fake in
                for listener in 1...2 { fake.host.newConnections.add { log.lines.append("\(listener) new \($0.role)") } }
            }
            #expect(log.lines == ["1 new Central", "2 new Central", "1 new Peripheral", "2 new Peripheral"])
            log.lines = []
            let first = pair.central.events.add { log.lines.append("1 \($0)") }
            pair.central.events.add { log.lines.append("2 \($0)") }
            try await pair.central.gatt.exchangeMTU(100)
            pair.central.events.remove(first)
            try await pair.central.disconnect()
            #expect(log.lines == ["1 mtuChanged(100)", "2 mtuChanged(100)", "2 disconnected(Connection_Terminated_By_Local_Host)"])
        }
    }

    @Test func aFullChannelDoesNotHoldUpAnother() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            pair.b.completionDelay = nil
            let attributes = pair.peripheral.channel(CID.att)
            while attributes.trySend([UInt8](repeating: 0x1B, count: 20)) {}
            let signaling = pair.peripheral.channel(CID.leSignaling)
            #expect(!attributes.isWritable && signaling.isWritable)
            let request = world.loop.start { try? await pair.peripheral.requestParameters(ConnectionParameterRequest(interval: 80)) }
            try await world.loop.sleep(for: 10)
            let before = pair.b.data.count
            pair.b.emit(
                HCIPacket(
                    event: HCIEvents.NumberOfCompletedPackets(handles: [.init(connectionHandle: 0x40, numCompletedPackets: 2)])))
            try await world.loop.sleep(for: 10)
            #expect(Set(pair.b.data[before...].map { $0.bytes[6] }) == [4, 5])
            request.cancel()
        }
    }

    @Test func aDeadBearerSendsAnswersOnly() throws {
        try World.run { world in
            let pair = try await Pair.make(world, database: ATTServerTests.database())
            try await pair.central.gatt.write(18, [1, 0])
            pair.a.swallows = { _ in true }
            #expect(await failure { _ = try await pair.peripheral.gatt.read(3) } == .peer(.timedOut(.attResponse)))
            pair.a.swallows = nil
            #expect(pair.peripheral.tryNotify(17, [1]) == .timedOut)
            #expect(pair.peripheral.gatt.tryWriteCommand(15, [1]) == .timedOut)
            let late = HostError.peer(.timedOut(.attResponse))
            #expect(await failure { try await pair.peripheral.notify(17, [1]) } == late)
            #expect(await failure { try await pair.peripheral.notify([(17, [1])]) } == late)
            #expect(await failure { try await pair.peripheral.gatt.writeCommand(15, [1]) } == late)
            #expect(try await pair.central.gatt.read(3) == [UInt8]("bench".utf8))
        }
    }
}
