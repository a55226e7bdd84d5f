import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// The attribute protocol on credit-based channels between two hosts. Core Vol 3, Part F, 3.2.11.
@Suite struct ATTBearerTests {
    struct Row: Sendable {
        var isEnhanced: Bool
        var mtu: UInt16
        var mps: UInt16
        var credits: UInt16
    }

    /// The last of each kind divides every long PDU into K-frames and waits for credits.
    static let rows = [false, true].flatMap { isEnhanced in
        [(247, 247, 10), (100, 64, 1)].map { Row(isEnhanced: isEnhanced, mtu: $0, mps: $1, credits: $2) }
    }

    private static func bearer(_ channel: CreditBasedChannel, _ link: Connection) -> ATTBearer {
        let client = link.context.server.session(of: link.peer)
        client.link = link
        return ATTBearer(over: channel, client: client, context: link.context)
    }

    @Test(arguments: rows) func clientAndServerWorkOnACreditBasedChannel(row: Row) throws {
        let database = ATTServerTests.database()
        database.add(ServiceDefinition(0xFFF8, characteristics: [CharacteristicDefinition(0xFFF9, properties: [.notify, .indicate])]))
        try SimulatedHosts.run(database: database) { hosts in
            let settings = CreditBasedChannelSettings(mtu: row.mtu, mps: row.mps, initialCredits: row.credits)
            let (near, far) = try await hosts.link()
            var server: ATTBearer?
            hosts.peripheral.listen(0x80, settings) { server = Self.bearer($0, far) }
            let opened =
                row.isEnhanced ? try await near.openChannels(0x80, count: 1, settings) : [try await near.openChannel(0x80, settings)]
            let gatt = GATTClient(Self.bearer(try #require(opened.first), near))
            #expect(gatt.mtu == Int(row.mtu) && !gatt.bearer.exchangesMTU)
            #expect(try await gatt.discoverServices().map(\.uuid) == [0x1800, 0x1801, 0xFFF0, 0xFFF8])
            #expect(try await gatt.readLong(15) == [UInt8](0..<60))
            let value = [UInt8](100..<164)
            try await gatt.writeLong(15, value)
            #expect(hosts.peripheral.database[15] == value)
            try await gatt.writeCommand(15, [4])
            #expect(try await gatt.read(15) == [4])

            // Values from the server, without waiting and after waiting for credits.
            let values = GATTValues(try #require(server))
            var received: [[UInt8]] = []
            gatt.values(of: 28).add { _, _, span in received.append(span.octets) }
            #expect(values.tryNotify(28, [1]) == .notSubscribed)
            try await gatt.write(29, [3, 0])
            let longest = [UInt8](repeating: 7, count: Int(row.mtu) - 3)
            #expect(values.tryNotify(28, longest) == .sent)
            try await values.notify(28, [2])
            try await values.indicate(28, longest)
            #expect(received == [longest, [2], longest])
            #expect(values.tryNotify(28, longest + [7]) == .tooLong)
            // The fixed channel is a bearer of its own, with its own MTU.
            #expect(near.mtu == 23)

            opened[0].disconnect()
            #expect(gatt.tryWriteCommand(15, [1]) == .disconnected)
        }
    }
}
