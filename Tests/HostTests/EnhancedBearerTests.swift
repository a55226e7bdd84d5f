import BBBenchTesting
import BBBluetoothCrypto
import BBL2CAP
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Enhanced ATT bearers between two hosts. Core Vol 3, Part F, 3.2.11; Part G, 5.3 and 5.4.
@Suite struct EnhancedBearerTests {
    private static let first: BluetoothUUID = 0xFFF1
    private static let second: BluetoothUUID = 0xFFF2

    private static func database(hasEnhancedBearers: Bool = true) -> GATTDatabase {
        let database = GATTDatabase(deviceName: "peripheral", hasEnhancedBearers: hasEnhancedBearers)
        database.add(
            ServiceDefinition(
                0xFFF0,
                characteristics: [first, second].map {
                    CharacteristicDefinition(
                        $0, properties: [.read, .write, .writeWithoutResponse, .notify, .indicate],
                        value: [UInt8](repeating: 7, count: 300))
                }))
        return database
    }

    /// The PDUs that one side has sent, by channel.
    private final class Sent {
        var channels: [UInt16] = []
    }

    private struct Link {
        let hosts: SimulatedHosts
        let near: Connection
        let far: Connection
        let values: [UInt16]

        func sent(by side: Connection) -> Sent {
            let sent = Sent()
            side.pduObservers.add { direction, cid, _ in
                if direction == .sent, cid != CID.leSignaling, cid != CID.smp { sent.channels.append(cid) }
            }
            return sent
        }
    }

    private func run(hasEnhancedBearers: Bool = true, pairs: Bool = true, _ body: @escaping (Link) async throws -> Void) throws {
        let database = Self.database(hasEnhancedBearers: hasEnhancedBearers)
        try SimulatedHosts.run(database: database) { hosts in
            hosts.peripheral.pairingSettings = PairingSettings()
            let (near, far) = try await hosts.link()
            if pairs { try await near.pair() }
            let values = [Self.first, Self.second].compactMap { database.valueHandle(of: $0) }
            try await body(Link(hosts: hosts, near: near, far: far, values: values))
        }
    }

    private func settle(_ link: Link) async throws { try await link.hosts.loop.sleep(for: .milliseconds(500)) }

    // MARK: Opening

    @Test func aClientTellsTheServerAndOpensBearers() throws {
        try run { link in
            let opened = try await link.near.enableEnhancedBearers(3)
            try await settle(link)
            #expect(opened.count == 3 && link.far.enhancedBearers.count == 3)
            #expect(opened.allSatisfy { $0.mtu == 517 && $0.isOpen } && link.near.mtu == 23)
            #expect(link.far.bearer.client.features == [.enhancedBearer, .multipleNotifications])
            #expect(link.near.gatt.mtu == 517)
            #expect(try await GATTClient(link.near.bearer).exchangeMTU(100) == 100)
            #expect(link.near.gatt.mtu == 517)
            // The request is refused where the channel has an MTU of its own.
            let refusal = await failure { _ = try await opened[0].gatt.request(ATT.ExchangeMTUReq(clientRxMTU: 100).bytes) }
            #expect(refusal == .peer(.att(request: .attExchangeMTUReq, handle: 0, .requestNotSupported)))
        }
    }

    @Test func withoutTheFeatureRequestsStayOnTheFixedChannel() throws {
        try run(hasEnhancedBearers: false) { link in
            link.hosts.central.context.enhancedBearers = nil
            link.hosts.peripheral.context.enhancedBearers = nil
            let opened = try await link.near.enableEnhancedBearers(2)
            #expect(opened.isEmpty)
            let refusal = await failure { try await link.near.openEnhancedBearers(2) }
            #expect(refusal == .peer(.channel(.creditBasedRefused(.refusedSPSMNotSupported))))
            #expect(try await link.near.gatt.read(link.values[0]).count == 22)
        }
    }

    @Test func aServerOpensBearersToAClientThatHasDeclaredThem() throws {
        try run { link in
            link.hosts.central.context.enhancedBearers = nil
            let refusal = await failure { try await link.far.openEnhancedBearers(1) }
            #expect(refusal == .peer(.channel(.creditBasedRefused(.refusedSPSMNotSupported))))
            try await link.near.declareEnhancedBearers()
            #expect(try await link.far.openEnhancedBearers(2).count == 2)
            try await settle(link)
            #expect(link.near.enhancedBearers.count == 2)
            let sent = link.sent(by: link.near)
            #expect(try await link.near.gatt.readLong(link.values[0]).count == 300)
            #expect(sent.channels == [0x40])
        }
    }

    /// The response and a disconnection request arrive together: the channel has ended before it is a bearer.
    @Test func aBearerThatEndsAtOnceIsNone() throws {
        try run { link in
            var identifier: UInt8 = 0
            link.far.channel(CID.leSignaling).handler = { identifier = $0.u8(at: 1) }
            let opening = link.hosts.loop.start { try await link.near.openEnhancedBearers(1).count }
            try await settle(link)
            let signaling = link.near.channel(CID.leSignaling)
            let response = octets("18") + [identifier] + octets("0a00 4000 4000 0500 0000 4000")
            for pdu in [response, octets("06 09 0400 4000 4000")] {
                let isTaken = signaling.receive(pdu.span.bytes)
                #expect(isTaken)
            }
            #expect(try await opening.value() == 0)
            #expect(link.near.enhancedBearers.isEmpty && link.near.channels.endpoints == 0)
        }
    }

    @Test func bearersNeedEncryption() throws {
        try run(pairs: false) { link in
            #expect(await failure { _ = try await link.near.openEnhancedBearers(1) } == .misuse(.notEncrypted))
            #expect(await failure { _ = try await link.near.enableEnhancedBearers(1) } == .misuse(.notEncrypted))
            let refusal = await failure { _ = try await link.near.openChannels(PSM.eatt, count: 1) }
            #expect(refusal == .peer(.channel(.creditBasedRefused(.refusedInsufficientAuthentication))))
        }
    }

    @Test func theOtherModeIsRefused() throws {
        try run { link in
            let refusal = await failure { _ = try await link.near.openChannel(PSM.eatt) }
            #expect(refusal == .peer(.channel(.creditBasedRefused(.refusedSPSMNotSupported))))
        }
    }

    @Test func noMoreThanTheLimitAreAccepted() throws {
        try run { link in
            var settings = EnhancedBearerSettings()
            settings.most = 2
            link.hosts.peripheral.offerEnhancedBearers(settings)
            #expect(try await link.near.openEnhancedBearers(5).count == 2)
            let refusal = await failure { try await link.near.openEnhancedBearers(1) }
            #expect(refusal == .peer(.channel(.creditBasedRefused(.refusedNoResources))))
            link.near.enhancedBearers[0].close()
            try await settle(link)
            #expect(link.near.enhancedBearers.count == 1 && link.far.enhancedBearers.count == 1)
            #expect(try await link.near.openEnhancedBearers(1).count == 1)
            #expect(try await link.near.gatt.readLong(link.values[0]).count == 300)
        }
    }

    /// Both sides ask for all bearers and refuse the other's request: the central comes first, and the peripheral finds no room.
    @Test func requestsOfBothSidesCollide() throws {
        try run { link in
            let loop = link.hosts.loop
            var (ours, theirs) = (-1, -1)
            let tasks = [
                loop.start { ours = try await link.near.openEnhancedBearers(5).count },
                loop.start { theirs = try await link.far.openEnhancedBearers(5).count },
            ]
            try await settle(link)
            for task in tasks { await task.ended() }
            #expect(ours == 5 && theirs == 0)
            #expect(link.near.enhancedBearers.count == 5 && link.far.enhancedBearers.count == 5)
        }
    }

    @Test func requestsOfBothSidesFindRoom() throws {
        try run { link in
            let loop = link.hosts.loop
            let tasks = [
                loop.start { try await link.near.openEnhancedBearers(2) },
                loop.start { try await link.far.openEnhancedBearers(3) },
            ]
            try await settle(link)
            for task in tasks { await task.ended() }
            #expect(link.near.enhancedBearers.count == 5 && link.far.enhancedBearers.count == 5)
        }
    }

    // MARK: Procedures

    @Test func requestsGoSideBySide() throws {
        try run { link in
            try await link.near.enableEnhancedBearers(3)
            let sent = link.sent(by: link.near)
            let loop = link.hosts.loop
            var values: [[UInt8]] = []
            let before = loop.now
            let tasks = (0..<6).map { number in
                loop.start { values.append(try await link.near.gatt.read(link.values[number % 2])) }
            }
            for task in tasks { await task.ended() }
            let elapsed = loop.now - before
            #expect(values.count == 6 && values.allSatisfy { $0.count == 300 })
            #expect(Set(sent.channels) == [0x40, 0x41, 0x42] && !sent.channels.contains(CID.att))

            let again = loop.now
            let alone = link.near.enhancedBearers[0].gatt
            for number in 0..<6 { #expect(try await alone.read(link.values[number % 2]).count == 300) }
            #expect(loop.now - again > elapsed)
        }
    }

    @Test func valuesArriveFromEveryBearer() throws {
        try run { link in
            let bearers = try await link.near.enableEnhancedBearers(2)
            try await settle(link)
            var received: [[UInt8]] = []
            for handle in link.values {
                link.near.gatt.values(of: handle).add { _, handle, span in received.append([UInt8(handle)] + span.octets.prefix(1)) }
                try await bearers[1].gatt.write(handle + 1, [3, 0])
            }
            let (a, b) = (link.values[0], link.values[1])
            let sent = link.sent(by: link.far)
            #expect(link.far.tryNotify(a, [1]) == .sent)
            #expect(link.far.enhancedBearers[0].values.tryNotify(b, [2]) == .sent)
            try await link.far.enhancedBearers[1].values.notify([(a, [3]), (b, [4])])
            try await settle(link)
            #expect(received == [[UInt8(a), 1], [UInt8(b), 2], [UInt8(a), 3], [UInt8(b), 4]])
            #expect(sent.channels == [CID.att, 0x40, 0x41])
            // The confirmation comes on the bearer of the indication.
            let confirmed = link.sent(by: link.near)
            try await link.far.enhancedBearers[1].values.indicate(a, [5])
            #expect(confirmed.channels == [0x41])
        }
    }

    /// Core Vol 3, Part F, 3.4.6: one queue for a client, whatever the number of bearers.
    @Test func preparedWritesOfAllBearersAreOneQueue() throws {
        try run { link in
            let bearers = try await link.near.enableEnhancedBearers(2)
            let database = link.hosts.peripheral.database
            try await bearers[0].gatt.prepareWrite(link.values[0], offset: 0, [1])
            try await bearers[1].gatt.prepareWrite(link.values[1], offset: 0, [2])
            try await link.near.gatt.execute(true)
            #expect(database[link.values[0]]?.first == 1 && database[link.values[1]]?.first == 2)
            // Long writes at the same time do not mix.
            let loop = link.hosts.loop
            let written = [[UInt8](repeating: 8, count: 512), [UInt8](repeating: 9, count: 512)]
            let tasks = [0, 1].map { number in loop.start { try await link.near.gatt.writeLong(link.values[number], written[number]) } }
            for task in tasks { await task.ended() }
            #expect(database[link.values[0]] == written[0] && database[link.values[1]] == written[1])
        }
    }

    /// Core Vol 3, Part F, 3.3.3: a time-out ends one bearer.
    @Test func aTimeOutClosesOneBearer() throws {
        try run { link in
            let bearers = try await link.near.enableEnhancedBearers(2)
            link.hosts.peripheral.quirks.bearers.servesOneBearer = true
            let before = link.hosts.loop.now
            #expect(await failure { _ = try await bearers[1].gatt.read(link.values[0]) } == .peer(.timedOut(.attResponse)))
            #expect(link.hosts.loop.now - before == ATTBearer.transactionTimeOut)
            try await settle(link)
            #expect(!bearers[1].isOpen && link.near.enhancedBearers.count == 1 && link.far.enhancedBearers.count == 1)
            #expect(try await link.near.gatt.read(link.values[0]).count == 300)
            #expect(try await bearers[0].gatt.read(link.values[0]).count == 300)
            link.near.enhancedBearers[0].close()
            #expect(try await link.near.gatt.read(link.values[0]).count == 22)
        }
    }

    /// Core Vol 3, Part G, 4.2: signed writes are for the fixed channel of LE.
    @Test(arguments: [false, true]) func aSignedWriteOnABearerIsIgnored(isTaken: Bool) throws {
        try run { link in
            let bearers = try await link.near.enableEnhancedBearers(1)
            let (key, host) = ([UInt8](0x30..<0x40), link.hosts.peripheral)
            var bond = try #require(link.far.bond)
            bond.peerSigningKey = SigningKey(key)
            host.keys.add(bond)
            host.quirks.bearers.takesSignedWrites = isTaken
            try await bearers[0].gatt.signedWrite(link.values[0], [0x55], csrk: UInt128(littleEndianOctets: key), counter: 0)
            try await settle(link)
            #expect((host.database[link.values[0]] == [0x55]) == isTaken)
        }
    }

    @Test func aReconfiguredChannelChangesTheMTU() throws {
        try run { link in
            var settings = EnhancedBearerSettings()
            settings.channel = CreditBasedChannelSettings(mtu: 64, mps: 64, initialCredits: 4)
            let channels = try await link.near.openChannels(PSM.eatt, count: 1, settings.channel)
            let bearer = try #require(channels.first.flatMap { link.near.enhanced.adopt($0) })
            #expect(try await GATTClient(bearer).read(link.values[0]).count == 63)
            try await link.near.reconfigure(channels, mtu: 200, mps: 100)
            #expect(bearer.mtu == 200 && link.far.enhancedBearers[0].mtu == 200)
            #expect(try await GATTClient(bearer).read(link.values[0]).count == 199)
        }
    }

    // MARK: Robust caching

    /// Core Vol 3, Part G, 2.5.2.1: no request is pending on another bearer when the client proves that it is aware of the change.
    @Test(arguments: [true, false]) func theHashWaitsForRequestsOnOtherBearers(isOutOfSync: Bool) throws {
        try run { link in
            let bearers = try await link.near.enableEnhancedBearers(2)
            link.hosts.peripheral.quirks.bearers.servesOneBearer = true
            let pending = link.hosts.loop.start { _ = try? await bearers[1].gatt.read(link.values[0]) }
            try await settle(link)
            #expect(link.near.leastBusyClient.bearer === bearers[0].bearer)
            if isOutOfSync { link.near.bearer.remote.foundOutOfSync() }
            let before = link.hosts.loop.now
            _ = try await bearers[0].gatt.read(uuid: .databaseHash)
            let waited = link.hosts.loop.now - before
            #expect(isOutOfSync ? waited > .seconds(29) : waited < .seconds(1))
            #expect(!link.near.bearer.remote.isOutOfSync)
            await pending.ended()
        }
    }

    /// Core Vol 3, Part G, 2.5.2.1, for a client with more than one bearer.
    @Test func theErrorComesOnceOnEachBearer() throws {
        try run { link in
            let bearers = try await link.near.enableEnhancedBearers(2)
            try await link.near.gatt.declare([.robustCaching])
            link.hosts.peripheral.database.add(ServiceDefinition(0x180F))
            let (handle, server) = (link.values[0], link.far.bearer.client)
            let outOfSync = HostError.peer(.att(request: .attReadReq, handle: handle, .databaseOutOfSync))
            for client in bearers.map(\.gatt) + [GATTClient(link.near.bearer)] {
                #expect(await failure { _ = try await client.read(handle) } == outOfSync)
                #expect(try await client.read(handle).count >= 22)
            }
            #expect(server.isOutOfSync && link.far.tryNotify(handle, [1]) != .sent)
            _ = try await bearers[0].gatt.read(uuid: .databaseHash)
            #expect(server.isOutOfSync)
            _ = try await bearers[1].gatt.read(handle)
            #expect(!server.isOutOfSync)
        }
    }

    struct AwarenessRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isOnly: Bool
        /// Bearers of requests; 0 stands for a confirmation of Service Changed, and -1 for reading the hash on the first one.
        var events: [Int]
        var errors: [Bool]
        var isAware: Bool
    }

    static let awareness = [
        AwarenessRow(testDescription: "one bearer: the next request", isOnly: true, events: [1, 1], errors: [true, false], isAware: true),
        AwarenessRow(testDescription: "one bearer: the confirmation", isOnly: true, events: [0], errors: [], isAware: true),
        AwarenessRow(
            testDescription: "two bearers: once on each", isOnly: false, events: [1, 2, 1, 2], errors: [true, true, false, false],
            isAware: false),
        AwarenessRow(testDescription: "two bearers: no confirmation", isOnly: false, events: [0, 2], errors: [true], isAware: false),
        AwarenessRow(
            testDescription: "two bearers: the hash and a request", isOnly: false, events: [1, -1, 2], errors: [true, false], isAware: true),
    ]

    @Test(arguments: awareness) func aClientBecomesAware(_ row: AwarenessRow) {
        var awareness = ChangeAwareness()
        awareness.databaseChanged()
        var errors: [Bool] = []
        for event in row.events {
            switch event {
            case 0: awareness.confirmed(isOnly: row.isOnly)
            case -1: awareness.readHash()
            default: errors.append(awareness.received(on: event, isOnly: row.isOnly, needsHandles: true, isRobust: true))
            }
        }
        #expect(errors == row.errors && awareness.isAware == row.isAware)
    }
}
