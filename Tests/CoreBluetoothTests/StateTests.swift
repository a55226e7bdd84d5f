import Testing

@testable import CoreBluetooth

/// States below powered off, and a controller that disappears.
@Suite struct StateTests {
    static let states: [(name: String, isValid: Bool, enter: @Sendable (CBPhone) -> Void, leave: @Sendable (CBPhone) -> Void)] = [
        ("denied", false, { $0.authorization = .denied }, { $0.authorization = .allowedAlways }),
        ("restricted", false, { $0.authorization = .restricted }, { $0.authorization = .allowedAlways }),
        ("resetting", false, { $0.crashService(for: 3) }, { _ in }),
        ("powered off", true, { $0.isPoweredOn = false }, { $0.isPoweredOn = true }),
    ]

    /// An object from before a state below powered off is not used any more; the manager has another one for the device.
    @Test(arguments: states.indices) func objectsEndWithAStateBelowPoweredOff(index: Int) throws {
        let (row, pair) = (Self.states[index], Pair())
        #expect(pair.connect())
        let (old, location) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A38")))
        row.enter(pair.phone)
        #expect(pair.run { pair.central.manager.state != .poweredOn })
        #expect(old.state == .disconnected && !pair.central.log.contains("disconnected"))
        row.leave(pair.phone)
        #expect(pair.run { pair.central.manager.state == .poweredOn })
        let lines = Lines(pair.phone)
        pair.central.manager.connect(old)
        pair.bench.run(for: 10)
        #expect(old.state == (row.isValid ? .connected : .disconnected), "\(row.name)")
        #expect(lines.all.count { $0.hasPrefix("API MISUSE: CBCentralManager: the peripheral ") } == (row.isValid ? 0 : 1), "\(row.name)")
        let again = try #require(pair.central.manager.retrievePeripherals(withIdentifiers: [old.identifier]).first)
        #expect((again === old) == row.isValid && again == old, "\(row.name)")
        pair.central.manager.connect(again)
        #expect(pair.run { again.state == .connected }, "\(row.name)")
        old.readValue(for: location)
        pair.bench.run(for: 1)
        #expect(pair.central.values.isEmpty, "\(row.name)")
    }

    /// The system's Bluetooth is gone for a moment: both managers are told, and services are to be added again.
    @Test func aCrashOfTheServiceIsReported() throws {
        let pair = Pair()
        #expect(pair.connect())
        let server = Accessory(on: pair.phone)
        #expect(pair.run { server.log.contains("advertising") })
        server.manager.delegate = nil
        pair.central.log.removeAll()
        pair.phone.crashService(for: 2)
        pair.bench.run(for: 1)
        #expect(pair.central.log == ["state resetting"] && server.manager.state == .resetting)
        #expect(!pair.central.manager.isScanning && !server.manager.isAdvertising)
        #expect(pair.run { pair.accessoryPhone.host.connections.isEmpty })
        pair.bench.run(for: 2)
        #expect(pair.central.log == ["state resetting", "state poweredOn"] && server.manager.state == .poweredOn)
        #expect(!server.manager.isAdvertising)
        let again = try #require(pair.central.manager.retrievePeripherals(withIdentifiers: pair.central.found.map(\.identifier)).first)
        pair.central.manager.connect(again)
        #expect(pair.run { again.state == .connected })
    }

    /// A dongle that is pulled out, with or without a connection. The device on the other side loses the link.
    @Test(arguments: [true, false]) func everyManagerIsToldOfALostController(isConnected: Bool) throws {
        let pair = Pair()
        let server = Accessory(on: pair.phone)
        #expect(pair.run { server.log.contains("advertising") })
        if isConnected { #expect(pair.connect()) }
        let lines = Lines(pair.phone)
        pair.central.log.removeAll()
        server.log.removeAll()
        pair.phone.removeController()
        pair.bench.run(for: 30)
        #expect(pair.central.log == ["state resetting", "state poweredOff"])
        #expect(server.log == ["state resetting", "state poweredOff"])
        #expect(pair.central.found.allSatisfy { $0.state == .disconnected })
        #expect(!pair.central.manager.isScanning && !server.manager.isAdvertising)
        #expect(pair.accessoryPhone.host.connections.isEmpty)
        #expect(lines.all.count == 1 && lines.all[0].hasPrefix("WARNING: the Bluetooth controller has disappeared"))
        pair.phone.isPoweredOn = false
        pair.phone.isPoweredOn = true
        pair.bench.run(for: 5)
        #expect(pair.central.manager.state == .poweredOff)
    }
}
