import BBHost
import BBPackets
import Testing

@testable import CoreBluetooth

/// A peripheral manager and a client that uses the attribute protocol as it likes.
@Suite struct RequestTests {
    /// A client without Core Bluetooth, connected to the accessory.
    private final class Client {
        let pair = Pair()
        var link: Connection?
        var characteristics: [BluetoothUUID: RemoteCharacteristic] = [:]
        var errors: [ATTErrorCode] = []
        var isDone = false

        init() {
            let host = pair.bench.host("client", database: GATTDatabase(deviceName: "client"))
            run { [self] in
                try await host.start()
                var address: DeviceAddress?
                let scan = try await host.scan { address = address ?? $0.address }
                while address == nil { try await host.loop.sleep(for: .milliseconds(10)) }
                try await scan.stop()
                guard let address else { return }
                let link = try await host.connect(to: address)
                for service in try await link.gatt.discoverServices(uuid: 0x180D) {
                    for found in try await link.gatt.discoverCharacteristics(in: service) { characteristics[found.uuid] = found }
                }
                self.link = link
            }
        }

        /// Runs a procedure, and notes the error of the server.
        func run(_ body: @escaping () async throws -> Void) {
            isDone = false
            pair.bench.start { [self] in
                do { try await body() } catch HostError.peer(.att(_, _, let code)) { errors.append(code) } catch { Issue.record(error) }
                isDone = true
            }
            #expect(pair.bench.run { self.isDone })
        }
    }

    /// The program gets each part with its offset, also one that begins where there is nothing, and decides.
    @Test(arguments: [CBATTError.Code.success, .invalidOffset]) func partsOfAQueuedWriteComeWithTheirOffsets(result: CBATTError.Code) throws
    {
        let client = Client()
        let (link, control) = (try #require(client.link), try #require(client.characteristics[0x2A39]?.value))
        client.pair.accessory.result = result
        client.run {
            for (offset, part) in [(30, [1, 2]), (0, [3]), (7, [])] as [(Int, [UInt8])] {
                _ = try await link.gatt.prepareWrite(control, offset: offset, part)
            }
            try await link.gatt.execute(true)
        }
        #expect(client.pair.accessory.requests.map(\.offset) == [30, 0, 7])
        #expect(client.pair.accessory.written == [Data([1, 2]), Data([3]), Data()])
        #expect(client.errors == (result == .success ? [] : [.invalidOffset]))
    }

    /// A part that ends beyond 512 octets is refused without the program, and a cancelled write never reaches it.
    @Test func impossibleAndCancelledPartsDoNotReachTheProgram() throws {
        let client = Client()
        let (link, control) = (try #require(client.link), try #require(client.characteristics[0x2A39]?.value))
        client.run {
            _ = try await link.gatt.prepareWrite(control, offset: 511, [1, 2])
            try await link.gatt.execute(true)
        }
        #expect(client.errors == [.invalidAttributeValueLength])
        client.run {
            _ = try await link.gatt.prepareWrite(control, offset: 0, [1])
            try await link.gatt.execute(false)
        }
        #expect(client.errors.count == 1 && client.pair.accessory.requests.isEmpty)
    }

    /// A client may exchange its MTU after it has subscribed.
    @Test func theLengthOfUpdatesFollowsTheMTU() throws {
        let client = Client()
        let (link, rate) = (try #require(client.link), try #require(client.characteristics[0x2A37]))
        client.run { _ = try await link.gatt.subscribe(rate, .notification) { _, _, _ in } }
        let central = try #require(client.pair.accessory.rate.subscribedCentrals?.first)
        #expect(central.maximumUpdateValueLength == 20)
        client.run { try await link.gatt.exchangeMTU(100) }
        client.pair.bench.run(for: 0.1)
        #expect(central.maximumUpdateValueLength == 97)
        #expect(client.pair.accessory.log.last == "subscribed")
    }
}
