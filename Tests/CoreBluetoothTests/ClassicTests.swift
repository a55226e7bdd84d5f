import BBHost
import BBPackets
import Testing

@testable import CoreBluetooth

/// Attributes over BR/EDR, and one identifier for both transports.
@Suite struct ClassicTests {
    private static func dual() -> CBPhoneTraits {
        var traits = CBPhoneTraits()
        traits.isDualMode = true
        return traits
    }

    /// A device with BR/EDR that serves a heart rate.
    private struct World {
        let bench = CBBench(seed: 9)
        let phone: CBPhone
        let device: PhoneHost
        let rate: UInt16

        init(_ advertises: Bool = false) throws {
            phone = bench.phone("phone", ClassicTests.dual())
            device = bench.host("device", database: GATTDatabase(deviceName: "device"), isDualMode: true)
            let values = [
                CharacteristicDefinition(0x2A37, properties: [.notify, .read], value: [0, 60]),
                CharacteristicDefinition(0x2A39, properties: [.read], permissions: [.read, .readEncrypted], value: [9]),
            ]
            let service = device.database.add(ServiceDefinition(0x180D, characteristics: values))
            rate = try #require(service[0x2A37]?.value)
            var pairing = PairingSettings()
            pairing.localKeys = [.encKey, .idKey, .linkKey]
            pairing.peerKeys = pairing.localKeys
            device.pairingSettings = pairing
            let host = self.device
            var isUp = false
            bench.start {
                try await host.start()
                host.offerAttributesOverClassic()
                try await host.setScan(isDiscoverable: true, isConnectable: true)
                if advertises {
                    try await host.enablePrivacy(PrivacySettings())
                    let data = AdvertisingData([.flags(.generalDiscoverable), .services([0x180D])])
                    _ = try await host.advertise(AdvertisingSettings(data: data))
                }
                isUp = true
            }
            #expect(bench.run { isUp })
        }

        /// A program that is registered for connections with a heart rate.
        func program() -> Program {
            let program = Program(on: phone)
            #expect(bench.run { program.manager.state == .poweredOn })
            program.manager.registerForConnectionEvents(options: [.serviceUUIDs: [CBUUID(string: "180D")]])
            return program
        }

        /// Reads and subscribes; the value of a notification follows.
        func use(_ program: Program) throws {
            let peripheral = try #require(program.peripheral)
            peripheral.discoverServices(nil)
            #expect(bench.run { peripheral.services?.isEmpty == false })
            #expect(peripheral.services?.map(\.uuid.uuidString) == ["180D"])
            let service = try #require(peripheral.services?.first)
            peripheral.discoverCharacteristics(nil, for: service)
            #expect(bench.run { service.characteristics?.count == 2 })
            let rate = try #require(service.characteristics?.first)
            peripheral.readValue(for: rate)
            #expect(bench.run { rate.value == Data([0, 60]) })
            peripheral.setNotifyValue(true, for: rate)
            #expect(bench.run { rate.isNotifying })
        }
    }

    private final class Program: NSObject, CBCentralManagerDelegate {
        private(set) var manager: CBCentralManager!
        var log: [String] = []
        var peripheral: CBPeripheral?
        init(on phone: CBPhone) {
            super.init()
            manager = phone.use { CBCentralManager(delegate: self, queue: nil) }
        }
        func centralManagerDidUpdateState(_ central: CBCentralManager) {}
        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
        ) {
            self.peripheral = peripheral
        }
        func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { log.append("connected") }
        func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?) {
            log.append("disconnected")
        }
        func centralManager(
            _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
        ) {
            log.append(event == .peerConnected ? "peer connected" : "peer disconnected")
            self.peripheral = peripheral
        }
    }

    /// The user pairs, the phone finds the services, the program is told and connects at once; values come over BR/EDR.
    @Test func aPairedDeviceIsToldAndUsed() throws {
        let world = try World()
        let program = world.program()
        world.phone.pairInSettings(BDADDR(world.device.address))
        #expect(world.bench.run { program.log == ["peer connected"] })
        let peripheral = try #require(program.peripheral)
        program.manager.connect(peripheral)
        #expect(world.bench.run(within: 1) { peripheral.state == .connected })
        #expect(world.phone.host.connections.isEmpty)
        #expect(program.log == ["peer connected", "connected"])
        try world.use(program)
        let link = try #require(world.device.classicConnections.first)
        world.bench.start { try await link.values?.notify(world.rate, [0, 61]) }
        let rate = try #require(peripheral.services?.first?.characteristics?.first)
        #expect(world.bench.run { rate.value == Data([0, 61]) })
    }

    /// A known device is paged.
    @Test func aKnownDeviceIsPaged() throws {
        let world = try World()
        let program = world.program()
        world.phone.pairInSettings(BDADDR(world.device.address))
        #expect(world.bench.run { program.log == ["peer connected"] })
        for link in world.phone.host.classicConnections { world.bench.start { try await link.disconnect() } }
        #expect(world.bench.run { program.log.last == "peer disconnected" })
        let peripheral = try #require(program.peripheral)
        program.manager.connect(peripheral)
        #expect(world.bench.run(within: 60) { peripheral.state == .connected })
        #expect(world.phone.host.classicConnections.count == 1)
        try world.use(program)
    }

    /// One pairing over LE gives the keys of both transports, and one identifier. A device with a private address that gives neither its
    /// identity nor a key of BR/EDR has two.
    @Test(arguments: [true, false])
    func bothTransportsHaveOneIdentifier(derivesKeys: Bool) throws {
        let world = try World(true)
        let program = world.program()
        var pairing = world.phone.host.pairingSettings ?? PairingSettings()
        pairing.localKeys = derivesKeys ? [.encKey, .idKey, .linkKey] : [.encKey]
        pairing.peerKeys = pairing.localKeys
        world.phone.host.pairingSettings = pairing
        program.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
        #expect(world.bench.run { program.peripheral != nil })
        let peripheral = try #require(program.peripheral)
        program.manager.stopScan()
        program.manager.connect(peripheral)
        #expect(world.bench.run { peripheral.state == .connected })
        #expect(world.phone.host.connections.count == 1)
        try world.use(program)
        let protected = try #require(peripheral.services?.first?.characteristics?.last)
        peripheral.readValue(for: protected)
        #expect(world.bench.run { protected.value == Data([9]) })
        #expect((world.phone.host.keys.all.first?.linkKey != nil) == derivesKeys)
        let device = world.device
        var link: ClassicConnection?
        world.bench.start {
            link = try await world.phone.host.connectClassic(to: BDADDR(device.address))
            try await link?.secure(to: .unauthenticated)
        }
        #expect(world.bench.run { link?.linkSecurity == .encrypted })
        let isOne = world.phone.directory.identifier(of: try #require(link).peer) == peripheral.identifier
        #expect(isOne == derivesKeys)
    }
}
