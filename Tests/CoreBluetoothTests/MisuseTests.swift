import Testing

@testable import CoreBluetooth

/// Calls at the wrong time or with the wrong object have no effect, and end no program.
@Suite struct MisuseTests {
    /// Each call to a peripheral that is not connected.
    static let calls: [(name: String, call: @Sendable (CBPeripheral, CBService, CBCharacteristic, CBDescriptor) -> Void)] = [
        ("readRSSI", { peripheral, _, _, _ in peripheral.readRSSI() }),
        ("discoverServices", { peripheral, _, _, _ in peripheral.discoverServices(nil) }),
        ("discoverIncludedServices", { peripheral, service, _, _ in peripheral.discoverIncludedServices(nil, for: service) }),
        ("discoverCharacteristics", { peripheral, service, _, _ in peripheral.discoverCharacteristics(nil, for: service) }),
        ("discoverDescriptors", { peripheral, _, characteristic, _ in peripheral.discoverDescriptors(for: characteristic) }),
        ("readValue", { peripheral, _, characteristic, _ in peripheral.readValue(for: characteristic) }),
        ("readValue of a descriptor", { peripheral, _, _, descriptor in peripheral.readValue(for: descriptor) }),
        ("writeValue", { peripheral, _, characteristic, _ in peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse) }),
        ("command", { peripheral, _, characteristic, _ in peripheral.writeValue(Data([1]), for: characteristic, type: .withoutResponse) }),
        ("writeValue of a descriptor", { peripheral, _, _, descriptor in peripheral.writeValue(Data([1]), for: descriptor) }),
        ("setNotifyValue", { peripheral, _, characteristic, _ in peripheral.setNotifyValue(true, for: characteristic) }),
        ("openL2CAPChannel", { peripheral, _, _, _ in peripheral.openL2CAPChannel(0x80) }),
    ]

    @Test func callsWithoutAConnectionHaveNoEffect() throws {
        let pair = Pair()
        #expect(pair.connect())
        let peripheral = try #require(pair.central.peripheral)
        let rate = try #require(pair.central.characteristic("2A37"))
        let service = try #require(rate.service)
        peripheral.discoverDescriptors(for: rate)
        #expect(pair.run { rate.descriptors?.isEmpty == false })
        let description = try #require(rate.descriptors?.first { $0.uuid.uuidString == CBUUIDCharacteristicUserDescriptionString })
        pair.central.manager.cancelPeripheralConnection(peripheral)
        #expect(pair.run { peripheral.state == .disconnected })
        #expect(!peripheral.canSendWriteWithoutResponse)
        #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 0)
        for row in Self.calls {
            let before = (pair.central.log, pair.accessory.log)
            row.call(peripheral, service, rate, description)
            pair.bench.run(for: 1)
            #expect(pair.central.log == before.0, "\(row.name)")
            #expect(pair.accessory.log == before.1, "\(row.name)")
        }
    }

    @Test func aPeripheralOfAnotherManagerIsIgnored() throws {
        let pair = Pair()
        #expect(pair.connect())
        let peripheral = try #require(pair.central.peripheral)
        let other = CentralProgram(on: pair.phone)
        #expect(pair.run { other.manager.state == .poweredOn })
        other.manager.cancelPeripheralConnection(peripheral)
        other.manager.connect(peripheral)
        pair.bench.run(for: 5)
        #expect(peripheral.state == .connected)
        #expect(other.log == ["state poweredOn"])
    }

    /// A server's calls before it is powered on are dropped, without an answer.
    @Test func serversWaitForPower() {
        final class Listener: NSObject, CBPeripheralManagerDelegate {
            var log: [String] = []
            func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { log.append("state \(peripheral.state)") }
            func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
                log.append("added")
            }
            func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
                log.append("advertising")
            }
            func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?) {
                log.append("published")
            }
        }
        let bench = CBBench()
        let listener = Listener()
        let manager = bench.phone("accessory").use { CBPeripheralManager(delegate: listener, queue: nil) }
        let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
        let rate = CBMutableCharacteristic(type: CBUUID(string: "2A37"), properties: .notify, value: nil, permissions: [])
        manager.add(service)
        manager.startAdvertising(nil)
        manager.publishL2CAPChannel(withEncryption: false)
        #expect(!manager.updateValue(Data([1]), for: rate, onSubscribedCentrals: nil))
        #expect(!manager.isAdvertising)
        bench.run(for: 5)
        #expect(listener.log == ["state poweredOn"])
        manager.removeAllServices()
        manager.remove(service)
        manager.unpublishL2CAPChannel(0x99)
        manager.add(service)
        manager.startAdvertising(nil)
        #expect(manager.isAdvertising)
        bench.run(for: 5)
        #expect(listener.log.filter { $0 != "unpublished" } == ["state poweredOn", "added", "advertising"])
    }

    /// One answer for each request; a second one is dropped.
    @Test func aSecondResponseIsDropped() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.accessory.answers = false
        let control = try #require(pair.central.characteristic("2A39"))
        pair.central.peripheral?.writeValue(Data([1]), for: control, type: .withResponse)
        #expect(pair.run { pair.accessory.requests.count == 1 })
        for code in [CBATTError.Code.success, .unlikelyError] {
            pair.accessory.manager.respond(to: pair.accessory.requests[0], withResult: code)
        }
        pair.bench.run(for: 5)
        #expect(pair.central.log.count { $0.hasPrefix("written") } == 1)
        #expect(pair.central.errors.isEmpty)
    }

    @Test(arguments: [CBManagerAuthorization.denied, .restricted]) func withoutLeaveNothingRuns(leave: CBManagerAuthorization) {
        let bench = CBBench()
        let phone = bench.phone("phone")
        phone.authorization = leave
        let central = CentralProgram(on: phone)
        bench.run(for: 2)
        #expect(central.log == ["state unauthorized"])
        #expect(phone.use { CBCentralManager.authorization } == leave)
        central.manager.scanForPeripherals(withServices: nil)
        #expect(!central.manager.isScanning)
    }

    /// Peers, UUIDs and attributes serve as keys.
    @Test func objectsAreKeys() throws {
        let pair = Pair()
        #expect(pair.connect())
        let (peripheral, rate) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A37")))
        let keys: [NSObject] = [peripheral, rate, try #require(rate.service), rate.uuid]
        #expect(Set(keys + keys).count == 4)
        #expect((peripheral.copy() as? CBPeripheral) === peripheral)
        #expect((rate.uuid.copy() as? CBUUID) == rate.uuid)
    }

    /// Switched off, a device keeps its services and goes on advertising later; it cannot be connected meanwhile.
    @Test func servicesOutlastPowerOff() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.central.peripheral?.setNotifyValue(true, for: try #require(pair.central.characteristic("2A37")))
        #expect(pair.run { pair.accessory.log.last == "subscribed" })
        pair.accessory.log.removeAll()
        pair.accessoryPhone.isPoweredOn = false
        #expect(pair.run { pair.central.peripheral?.state == .disconnected })
        let peripheral = try #require(pair.central.peripheral)
        pair.central.manager.connect(peripheral)
        pair.bench.run(for: 10)
        #expect(peripheral.state == .connecting)
        #expect(pair.accessory.log == ["state poweredOff", "unsubscribed"] && !pair.accessory.manager.isAdvertising)
        pair.accessory.manager.delegate = nil
        pair.accessoryPhone.isPoweredOn = true
        #expect(pair.run { peripheral.state == .connected })
        #expect(pair.accessory.manager.isAdvertising)
        peripheral.discoverServices([CBUUID(string: "180D")])
        #expect(pair.run { peripheral.services?.count == 1 })
    }

    /// In a state below powered off the services are gone.
    @Test func servicesEndWithThePermission() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.accessory.manager.delegate = nil
        pair.accessoryPhone.authorization = .denied
        #expect(pair.run { pair.central.peripheral?.state == .disconnected && pair.accessory.manager.state == .unauthorized })
        pair.accessoryPhone.authorization = .allowedAlways
        #expect(pair.run { pair.accessory.manager.state == .poweredOn })
        #expect(!pair.accessory.manager.isAdvertising)
        pair.accessory.advertise()
        let peripheral = try #require(pair.central.peripheral)
        pair.central.manager.connect(peripheral)
        #expect(pair.run { peripheral.state == .connected })
        peripheral.discoverServices([CBUUID(string: "180D")])
        #expect(pair.run { pair.central.log.last == "services" })
        #expect(peripheral.services?.isEmpty ?? true)
    }

    // MARK: Lines

    /// A command to a characteristic that does not have the property is not sent.
    @Test func aCommandWithoutThePropertyIsDropped() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.bench.run(for: 5)
        let (peripheral, location) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A38")))
        let (lines, requests) = (Lines(pair.phone), Requests(pair.phone))
        for _ in 0..<30 { peripheral.writeValue(Data([1]), for: location, type: .withoutResponse) }
        #expect(peripheral.canSendWriteWithoutResponse)
        pair.bench.run(for: 1)
        #expect(requests.opcodes.isEmpty)
        #expect(lines.all.count == 30 && Set(lines.all).count == 1)
        #expect(lines.all.first?.hasPrefix("WARNING: Characteristic <CBCharacteristic: UUID = ") == true)
        #expect(lines.all.first?.hasSuffix("\"Write Without Response\" property - ignoring response-less write") == true)
    }

    /// A peripheral that nobody holds is disconnected, with a line; one that is not connected is not missed.
    @Test(arguments: ["found", "connecting", "connected", "disconnecting"]) func anUnusedPeripheralIsNamed(state: String) throws {
        let pair = Pair()
        pair.central.connects = false
        pair.central.manager.scanForPeripherals(withServices: nil)
        #expect(pair.run { pair.central.peripheral != nil })
        pair.central.manager.stopScan()
        pair.bench.run(for: 1)
        if state != "found" { pair.central.manager.connect(try #require(pair.central.peripheral)) }
        #expect(state == "found" || state == "connecting" || pair.run { pair.central.peripheral?.state == .connected })
        if state == "disconnecting" { pair.central.manager.cancelPeripheralConnection(try #require(pair.central.peripheral)) }
        let lines = Lines(pair.phone)
        pair.central.found.removeAll()
        pair.bench.run(for: 5)
        #expect(pair.phone.host.connections.isEmpty)
        let isNamed = state.hasPrefix("connect")
        #expect(lines.all.count == (isNamed ? 1 : 0))
        if isNamed {
            #expect(lines.all[0].hasPrefix("API MISUSE: Cancelling connection for unused peripheral <CBPeripheral: "))
            #expect(lines.all[0].hasSuffix("state = \(state)>, Did you forget to keep a reference to it?"))
        }
    }

    /// A phone reports that it is full once, and that it has room once.
    @Test func roomForCommandsIsReportedOnce() throws {
        let pair = Pair()
        #expect(pair.connect())
        let (peripheral, control) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A39")))
        pair.central.log.removeAll()
        for number in 0..<100 { peripheral.writeValue(Data([UInt8(number)]), for: control, type: .withoutResponse) }
        #expect(!peripheral.canSendWriteWithoutResponse)
        #expect(pair.run { pair.accessory.written.count == 100 })
        #expect(pair.central.log == ["ready"])
    }
}
