import Bluebench
import Testing

/// GATT in both roles.
@Suite struct AttributeTests {
    private static func service(_ properties: CharacteristicProperties, _ change: (inout LocalCharacteristic) -> Void = { _ in })
        -> LocalService
    {
        var characteristic = LocalCharacteristic(.value, properties, value: [1, 2, 3])
        change(&characteristic)
        return LocalService(.service, [characteristic])
    }

    @Test func aDatabaseIsDiscovered() throws {
        let service = Self.service([.read, .notify]) { $0.userDescription = "Level" }
        try Pair.run(publishing: [service]) { pair in
            let database = try await pair.connection.discover()
            #expect(database.services.map(\.uuid) == [0x1800, 0x1801, 0xFF00])
            let found = try database.service(.service).characteristic(.value)
            #expect(found.properties == [.read, .notify])
            #expect(found.descriptors.map(\.uuid).sorted { $0.octets[0] < $1.octets[0] } == [0x2901, 0x2902])
            let description = try #require(found.descriptors.first { $0.uuid == 0x2901 })
            #expect(try await pair.connection.read(description) == Array("Level".utf8))
            #expect(try await pair.connection.read(try database.characteristic(0x2A00)) == Array("Sensor".utf8))
        }
    }

    /// Values below and above ATT_MTU, with and without an exchange.
    @Test(arguments: [(1, nil), (20, nil), (512, nil), (244, 247), (512, 247)] as [(Int, Int?)])
    func aValueIsWrittenAndRead(length: Int, mtu: Int?) throws {
        let value = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        try Pair.run(publishing: [Self.service([.read, .write])]) { pair in
            if let mtu { #expect(try await pair.connection.exchangeMTU(mtu) == mtu) }
            let found = try await pair.connection.discover().characteristic(.value)
            #expect(try await pair.connection.read(found) == [1, 2, 3])
            try await pair.connection.write(value, to: found)
            #expect(try await pair.connection.read(found) == value)
        }
    }

    @Test func aCommandArrivesWithoutAResponse() throws {
        var received: [[UInt8]] = []
        let service = Self.service([.writeWithoutResponse]) { $0.onWrite = { _, value in received.append(value) } }
        try Pair.run(publishing: [service]) { pair in
            let found = try await pair.connection.discover().characteristic(.value)
            for number in UInt8(0)..<50 { try await pair.connection.writeWithoutResponse([number], to: found) }
            try await pair.bench.wait { received.count == 50 }
            #expect(received == (UInt8(0)..<50).map { [$0] })
        }
    }

    /// Notifications, and indications, which wait for their confirmation.
    @Test(arguments: [CharacteristicProperties.notify, .indicate, [.notify, .indicate]])
    func valuesComeInOrder(properties: CharacteristicProperties) throws {
        var isSubscribed: [Bool] = []
        let service = Self.service(properties) { $0.onSubscribe = { _, isOn in isSubscribed.append(isOn) } }
        try Pair.run(publishing: [service]) { pair in
            let database = try await pair.connection.discover()
            let published = try #require(pair.published[0][.value])
            #expect(try await pair.sensor.notify([0], of: published) == 0)
            let values = try await pair.connection.subscribe(to: try database.characteristic(.value))
            for number in UInt8(1)...20 {
                #expect(try await pair.sensor.notify([number], of: published) == 1)
            }
            for number in UInt8(1)...20 { #expect(try await values.next(within: .seconds(5)) == [number]) }
            try await values.cancel()
            #expect(isSubscribed == [true, false])
        }
    }

    @Test func aSubscriptionEndsWithItsConnection() throws {
        try Pair.run(publishing: [Self.service(.notify)]) { pair in
            let values = try await pair.connection.subscribe(to: try await pair.connection.discover().characteristic(.value))
            let waiting = pair.bench.start { try await values.next(within: .seconds(3_600)) }
            try await pair.other?.disconnect()
            let error = await reason { _ = try await waiting.value() }
            #expect(error?.reason == .disconnected(.remoteUserTerminatedConnection))
        }
    }

    /// The client gets the code that a handler throws.
    @Test(arguments: [ATTErrorCode.valueNotAllowed, .invalidAttributeValueLength, .insufficientResources, 0x80])
    func aHandlerRefuses(code: ATTErrorCode) throws {
        let service = Self.service([.read, .write]) {
            $0.onRead = { _ in throw ATTRefusal(code) }
            $0.onWrite = { _, _ in throw ATTRefusal(code) }
        }
        try Pair.run(publishing: [service]) { pair in
            let found = try await pair.connection.discover().characteristic(.value)
            let errors = [
                await reason { _ = try await pair.connection.read(found) },
                await reason { try await pair.connection.write([1], to: found) },
            ]
            for error in errors {
                #expect(error?.origin == .peer)
                #expect(error?.reason == .att(code, handle: found.handle))
            }
        }
    }

    @Test func aClientSeesThatAServiceIsRemoved() throws {
        try Pair.run { pair in
            let added = pair.sensor.publish(Self.service(.read))
            let before = try await pair.connection.discover()
            pair.sensor.unpublish(added)
            let after = try await pair.connection.discover()
            #expect(before.services.count == 3 && after.services.count == 2)
        }
    }
}
