import BBHost
import BBPackets
import Testing

@testable import CoreBluetooth

/// Services of a phone for an accessory: ANCS, Current Time, Battery.
@Suite struct NotificationTests {
    /// An accessory that is a client of the phone to which it is connected.
    private final class Consumer {
        static let source = BluetoothUUID(long: 0x9FBF_120D_6301_42D9_8C58_25E6_99A2_1DBD)
        static let control = BluetoothUUID(long: 0x69D1_D8F3_45E1_49A8_9821_9BBD_FDAA_D9D9)
        static let data = BluetoothUUID(long: 0x22EA_C6E9_24D6_4BB5_BE44_B36A_CE7C_7BFB)
        let link: Connection
        let bench: CBBench
        var events: [[UInt8]] = []
        var responses: [UInt8] = []
        private var control: RemoteCharacteristic?

        init(_ pair: Pair) throws {
            link = try #require(pair.accessoryPhone.host.connections.first)
            bench = pair.bench
        }

        /// Runs a procedure of the accessory; returns its ATT error.
        func run(_ body: @escaping (Consumer) async throws -> Void) -> ATTErrorCode? {
            let activity = bench.loop.start { [self] in try await body(self) }
            #expect(bench.run { activity.isOver })
            switch activity.result {
            case .failure(HostError.peer(.att(_, _, let code))): return code
            case .failure(let error): Issue.record(error)
            case .success, nil: break
            }
            return nil
        }

        func subscribe() -> ATTErrorCode? {
            run { consumer in
                let service = try #require(try await consumer.link.gatt.discoverServices(uuid: PhoneNotifications.service).first)
                let all = try await consumer.link.gatt.discoverCharacteristics(in: service)
                let (source, data) = (try #require(all.first { $0.uuid == Self.source }), try #require(all.first { $0.uuid == Self.data }))
                consumer.control = all.first { $0.uuid == Self.control }
                _ = try await consumer.link.gatt.subscribe(data, .notification) { _, _, value in consumer.responses += value.octets }
                _ = try await consumer.link.gatt.subscribe(source, .notification) { _, _, value in consumer.events.append(value.octets) }
            }
        }

        func command(_ octets: [UInt8]) -> ATTErrorCode? {
            run { consumer in
                let control = try #require(consumer.control)
                try await consumer.link.gatt.write(control.value, octets)
            }
        }

        func read(_ service: BluetoothUUID, _ uuid: BluetoothUUID) -> [UInt8]? {
            var value: [UInt8]?
            _ = run { consumer in value = try await consumer.link.gatt.read(uuid: uuid).first?.value }
            return value
        }
    }

    /// An accessory that a program has connected, and the phone that serves it.
    private func connected(permits: Bool = true, requires: Bool = true) throws -> Pair {
        var traits = CBPhoneTraits()
        traits.servesSystemServices = true
        let pair = Pair(phone: traits)
        pair.phone.answerNotifications(permits: permits)
        pair.central.options = [CBConnectPeripheralOptionRequiresANCS: requires]
        #expect(pair.connect())
        if requires { #expect(pair.run { pair.central.log.contains("notifications \(permits)") }) }
        return pair
    }

    @Test func anAccessoryReadsNotifications() throws {
        let pair = try connected()
        #expect(pair.central.peripheral?.ancsAuthorized == true)
        let consumer = try Consumer(pair)
        pair.phone.show(CBPhoneNotification(.email, title: "An old one", message: "from before"), as: 3)
        #expect(consumer.subscribe() == nil)
        #expect(pair.run { consumer.events.count == 1 })
        // Added, pre-existing, e-mail, one of its category, identifier.
        #expect(consumer.events == [[0, 0x04, 6, 1, 3, 0, 0, 0]])
        for (number, category) in CBPhoneNotification.Category.allCases.enumerated() {
            pair.phone.show(CBPhoneNotification(category, title: "title", message: "m"), as: UInt32(100 + number))
        }
        #expect(pair.run { consumer.events.count == 13 })
        #expect(consumer.events.dropFirst().map { $0[2] } == Array(0...11))
        let message = String(repeating: "long ", count: 200)
        var call = CBPhoneNotification(.incomingCall, title: "Alice", message: message)
        (call.positiveAction, call.negativeAction) = ("Accept", "Decline")
        pair.phone.show(call, as: 7)
        #expect(pair.run { consumer.events.last == [0, 0x18, 1, 2, 7, 0, 0, 0] })
        // Title of at most 3 octets, message, label.
        #expect(consumer.command([0, 7, 0, 0, 0, 1, 3, 0, 3, 0xFF, 0xFF, 6]) == nil)
        let text = [UInt8](message.utf8)
        let expected = [0, 7, 0, 0, 0, 1, 3, 0] + [UInt8]("Ali".utf8) + [3, 0xE8, 3] + text + [6, 6, 0] + [UInt8]("Accept".utf8)
        #expect(pair.run { consumer.responses.count == expected.count })
        #expect(consumer.responses == expected)
        pair.phone.withdraw(3)
        #expect(pair.run { consumer.events.last == [2, 0, 6, 1, 3, 0, 0, 0] })
        var actions: [(UInt32, Bool)] = []
        pair.phone.onNotificationAction { actions.append(($0, $1)) }
        pair.bench.run(for: 1)
        #expect(consumer.command([2, 7, 0, 0, 0, 1]) == nil)
        #expect(actions.map(\.0) == [7] && actions.map(\.1) == [false])
        #expect(pair.run { consumer.events.last?.first == 2 })
    }

    static let wrong: [(command: [UInt8], error: UInt8)] = [
        ([9], 0xA0), ([0, 1], 0xA1), ([0, 9, 0, 0, 0, 1, 3, 0], 0xA2), ([0, 7, 0, 0, 0, 99], 0xA2), ([0, 7, 0, 0, 0, 1, 3], 0xA1),
        ([2, 7, 0, 0, 0, 2], 0xA2), ([], 0xA1),
    ]

    @Test(arguments: wrong) func wrongCommandsAreRefused(command: [UInt8], error: UInt8) throws {
        let pair = try connected()
        let consumer = try Consumer(pair)
        pair.phone.show(CBPhoneNotification(.news, title: "t", message: "m"), as: 7)
        #expect(consumer.subscribe() == nil)
        #expect(consumer.command(command) == ATTErrorCode(rawValue: error))
    }

    /// The user refuses, and permits it later in the settings.
    @Test func withoutPermissionTheServiceRefuses() throws {
        let pair = try connected(permits: false)
        let peripheral = try #require(pair.central.peripheral)
        #expect(!peripheral.ancsAuthorized)
        let consumer = try Consumer(pair)
        #expect(consumer.subscribe() == .insufficientAuthorization)
        pair.phone.permitNotifications(true, for: peripheral.identifier)
        #expect(pair.run { pair.central.log.contains("notifications true") })
        #expect(peripheral.ancsAuthorized)
        #expect(consumer.subscribe() == nil)
    }

    /// A program that does not require notifications is not told of them, and the question is not put.
    @Test func theQuestionIsPutOnRequestOnly() throws {
        let pair = try connected(requires: false)
        pair.bench.run(for: 10)
        #expect(!pair.central.log.contains { $0.hasPrefix("notifications") })
        #expect(pair.central.peripheral?.ancsAuthorized == false)
        #expect(try Consumer(pair).subscribe() == .insufficientAuthentication)
    }

    @Test func aPhoneHasTimeBatteryAndItsName() throws {
        let pair = try connected()
        let consumer = try Consumer(pair)
        #expect(consumer.read(0x180F, 0x2A19) == [100])
        #expect(consumer.read(0x180A, 0x2A24) == [UInt8]("phone".utf8))
        #expect(consumer.read(0x1805, 0x2A0F) == [0, 0])
        let time = try #require(consumer.read(0x1805, 0x2A2B))
        // 1 January 2026, a Thursday; no adjust reason.
        #expect(time.prefix(6) == [0xEA, 0x07, 1, 1, 0, 0])
        #expect(time.count == 10 && time[7] == 4 && time[9] == 0)
    }

    /// An app that connects to a phone sees neither ANCS nor the generic services.
    @Test func systemServicesAreHiddenFromPrograms() throws {
        var traits = CBPhoneTraits()
        traits.servesSystemServices = true
        let pair = Pair(accessory: traits)
        #expect(pair.connect())
        pair.central.peripheral?.discoverServices(nil)
        #expect(pair.run { pair.central.peripheral?.services?.count == 4 })
        #expect(Set(pair.central.peripheral?.services?.map(\.uuid.uuidString) ?? []) == ["180D", "180A", "180F", "1805"])
    }
}
