import Testing

@testable import CoreBluetooth

/// State preservation and restoration: a program is ended by the system and launched again.
@Suite struct RestorationTests {
    /// A program that connects to a heart rate monitor, as a sample would: each step looks at what is there already.
    private final class Monitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
        private(set) var manager: CBCentralManager!
        var log: [String] = []
        var peripherals: [CBPeripheral] = []
        var restored: [String: Any]?
        var values: [Data] = []
        var statesAtRestoration: [CBPeripheralState] = []
        /// Goes on with each step of discovery by itself.
        let continues: Bool

        init(on phone: CBPhone, _ identifier: String?, continues: Bool = true) {
            self.continues = continues
            super.init()
            let options: [String: Any] = identifier.map { [CBCentralManagerOptionRestoreIdentifierKey: $0] } ?? [:]
            manager = phone.use { CBCentralManager(delegate: self, queue: nil, options: options) }
        }

        func next(_ peripheral: CBPeripheral) {
            guard continues else { return }
            guard let service = peripheral.services?.first else { return peripheral.discoverServices([CBUUID(string: "180D")]) }
            guard let rate = service.characteristics?.first else {
                return peripheral.discoverCharacteristics([CBUUID(string: "2A37")], for: service)
            }
            if !rate.isNotifying { peripheral.setNotifyValue(true, for: rate) }
        }

        func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
            log.append("restored")
            restored = dict
            peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
            #expect(peripherals.allSatisfy { $0.delegate == nil })
            statesAtRestoration = peripherals.map(\.state)
            for peripheral in peripherals { peripheral.delegate = self }
        }
        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            log.append("state \(central.state)")
            guard central.state == .poweredOn else { return }
            for peripheral in peripherals where peripheral.state == .connected { next(peripheral) }
        }
        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
        ) {
            log.append("discovered")
            peripherals.append(peripheral)
            peripheral.delegate = self
        }
        func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
            log.append("connected")
            next(peripheral)
        }
        func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?) {
            log.append("disconnected")
        }
        func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
            log.append("services")
            next(peripheral)
        }
        func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
            log.append("characteristics")
            next(peripheral)
        }
        func peripheral(_ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?) {
            log.append("notifying")
        }
        func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
            log.append("value")
            characteristic.value.map { values.append($0) }
        }
    }

    /// A phone with a program that has found an accessory.
    private struct World {
        let bench = CBBench(seed: 2)
        let accessoryPhone: CBPhone
        let phone: CBPhone
        let accessory: Accessory

        init() {
            (accessoryPhone, phone) = (bench.phone("accessory"), bench.phone("phone"))
            accessory = Accessory(on: accessoryPhone)
        }

        func monitor(_ identifier: String? = "monitor", continues: Bool = true) -> Monitor {
            let monitor = Monitor(on: phone, identifier, continues: continues)
            #expect(bench.run { monitor.manager.state == .poweredOn })
            return monitor
        }

        /// A monitor that has found the accessory.
        func found(continues: Bool = true) -> Monitor {
            let monitor = monitor(continues: continues)
            monitor.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
            #expect(bench.run { !monitor.peripherals.isEmpty })
            monitor.manager.stopScan()
            return monitor
        }

        /// A monitor that is subscribed to the accessory.
        func subscribed() -> Monitor {
            let monitor = found()
            monitor.manager.connect(monitor.peripherals[0])
            #expect(bench.run { monitor.log.last == "notifying" })
            return monitor
        }

        /// Lets the system launch the program again; returns its new manager.
        func relaunched(_ event: () -> Void) -> Monitor? {
            var launched: Monitor?
            var asked: [[String]] = []
            phone.onLaunch = { [phone] identifiers in
                asked.append(identifiers)
                launched = Monitor(on: phone, identifiers.first)
            }
            event()
            #expect(bench.run { launched?.manager.state == .poweredOn })
            #expect(asked == [["monitor"]])
            phone.onLaunch = nil
            return launched
        }
    }

    @Test func withoutAnIdentifierNothingIsKept() {
        let world = World()
        let monitor = world.monitor(nil)
        #expect(monitor.log == ["state poweredOn"])
        monitor.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
        #expect(world.bench.run { !monitor.peripherals.isEmpty })
        monitor.manager.connect(monitor.peripherals[0])
        #expect(world.bench.run { monitor.log.contains("connected") })
        world.phone.endProgram()
        #expect(monitor.manager.state == .unknown)
        #expect(world.bench.run { world.accessory.manager.state == .poweredOn && world.phone.host.connections.isEmpty })
        let again = world.monitor(nil)
        #expect(again.log == ["state poweredOn"])
        // The same holds for a peripheral manager.
        let server = Accessory(on: world.phone)
        #expect(world.bench.run { server.log.contains("advertising") })
        world.phone.endProgram()
        let serverAgain = world.phone.use { CBPeripheralManager(delegate: nil, queue: nil) }
        #expect(world.bench.run { serverAgain.state == .poweredOn })
        #expect(server.manager.state == .unknown && !serverAgain.isAdvertising)
    }

    /// A manager that the program has given up is not preserved when the program ends.
    @Test func aReleasedManagerIsNotPreserved() {
        let world = World()
        let lines = Lines(world.phone)
        var monitor: Monitor? = world.subscribed()
        var launches = 0
        world.phone.onLaunch = { _ in launches += 1 }
        withExtendedLifetime(monitor) {}
        monitor = nil
        world.phone.endProgram()
        world.bench.run(for: 10)
        #expect(launches == 0 && world.phone.host.connections.isEmpty)
        #expect(lines.all.count { $0.contains("was released before the program ended") } == 1)
    }

    /// Restoration, then the power state, then the event for which the program was launched; the connection stays meanwhile.
    @Test func aValueLaunchesTheProgram() throws {
        let world = World()
        let before = world.subscribed()
        let identifier = before.peripherals[0].identifier
        world.phone.endProgram()
        world.bench.run(for: 60)
        #expect(world.accessory.rate.subscribedCentrals?.count == 1)
        let requests = Requests(world.phone)
        let after = try #require(
            world.relaunched {
                for value: UInt8 in 1...3 {
                    world.accessory.manager.updateValue(Data([0, value]), for: world.accessory.rate, onSubscribedCentrals: nil)
                }
            })
        #expect(world.phone.isInBackground)
        #expect(world.bench.run { after.values.count == 3 })
        #expect(after.log == ["restored", "state poweredOn", "value", "value", "value"])
        #expect(after.values == [Data([0, 1]), Data([0, 2]), Data([0, 3])])
        let peripheral = try #require(after.peripherals.first)
        #expect(peripheral.identifier == identifier && peripheral.state == .connected)
        // Services, characteristics and subscriptions are there without discovery.
        #expect(peripheral.services?.first?.characteristics?.first?.isNotifying == true)
        #expect(requests.count == 0)
        #expect(before.log.last == "notifying")
    }

    @Test func aPendingConnectionLaunchesTheProgram() throws {
        let world = World()
        let before = world.found()
        world.accessory.manager.stopAdvertising()
        world.bench.run(for: 1)
        before.manager.connect(before.peripherals[0])
        world.bench.run(for: 5)
        world.phone.endProgram()
        world.bench.run(for: 60)
        let after = try #require(world.relaunched { world.accessory.advertise() })
        // The peripheral is connected already when the program is told of it.
        #expect(world.bench.run { after.log.contains("notifying") })
        #expect(after.statesAtRestoration == [.connected])
        #expect(after.log.prefix(3) == ["restored", "state poweredOn", "connected"])
        #expect(after.log.count { $0 == "connected" } == 1)
    }

    @Test func aScanGoesOn() throws {
        let world = World()
        #expect(world.bench.run { world.accessory.log.contains("advertising") })
        world.accessory.manager.stopAdvertising()
        world.bench.run(for: 1)
        let before = world.monitor()
        let options = [CBCentralManagerScanOptionAllowDuplicatesKey: true]
        before.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")], options: options)
        world.bench.run(for: 2)
        let commands = Commands(world.phone)
        world.phone.endProgram()
        world.bench.run(for: 5)
        let after = try #require(world.relaunched { world.accessory.advertise() })
        #expect(after.restored?[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID] == [CBUUID(string: "180D")])
        let restored = after.restored?[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Bool]
        #expect(restored == options)
        #expect(after.manager.isScanning)
        #expect(world.bench.run { after.log.contains("discovered") })
        // The same request again changes nothing in the controller.
        after.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")], options: options)
        world.bench.run(for: 2)
        #expect(commands.count == 0)
    }

    /// Discovery that the end of the program has interrupted is continued at the missing step.
    @Test(arguments: ["connected", "services", "characteristics", "notifying"])
    func interruptedDiscoveryIsContinued(step: String) throws {
        let world = World()
        let before = world.found()
        before.manager.connect(before.peripherals[0])
        #expect(world.bench.run { before.log.last == step })
        world.phone.endProgram()
        let after = Monitor(on: world.phone, "monitor")
        world.bench.run(for: 5)
        let steps = ["services", "characteristics", "notifying"]
        let known = steps.firstIndex(of: step).map { $0 + 1 } ?? 0
        #expect(after.log == ["restored", "state poweredOn"] + steps.dropFirst(known))
        world.accessory.manager.updateValue(Data([0, 9]), for: world.accessory.rate, onSubscribedCentrals: nil)
        #expect(world.bench.run { after.values == [Data([0, 9])] })
    }

    @Test func aLostConnectionIsReportedToTheNextProgram() throws {
        let world = World()
        let before = world.subscribed()
        world.phone.endProgram()
        let after = try #require(world.relaunched { world.accessoryPhone.isPoweredOn = false })
        world.bench.run(for: 2)
        #expect(after.log == ["restored", "state poweredOn", "disconnected"])
        #expect(after.peripherals.first?.state == .disconnected)
        #expect(before.log.last == "notifying")
    }

    @Test(arguments: [true, false]) func aManagerMadeTooLateLosesItsActions(inTime: Bool) throws {
        let world = World()
        let before = world.subscribed()
        world.phone.launchTime = 5
        world.phone.endProgram()
        var launches: [[String]] = []
        world.phone.onLaunch = { launches.append($0) }
        world.accessory.manager.updateValue(Data([0, 1]), for: world.accessory.rate, onSubscribedCentrals: nil)
        world.bench.run(for: inTime ? 4 : 10)
        #expect(launches == [["monitor"]])
        let after = world.monitor()
        world.bench.run(for: 10)
        #expect(after.log.first == (inTime ? "restored" : "state poweredOn"))
        #expect(world.phone.host.connections.isEmpty == !inTime)
        #expect(before.log.last == "notifying")
    }

    @Test func theSecondManagerWithAnIdentifierIsNotPreserved() {
        let world = World()
        let (first, second) = (world.monitor(), world.monitor())
        second.manager.scanForPeripherals(withServices: nil)
        world.bench.run(for: 1)
        #expect(first.manager.state == .poweredOn)
        world.phone.endProgram()
        let after = world.monitor()
        #expect(after.log.first == "restored")
        #expect(!after.manager.isScanning)
    }

    /// A peripheral manager keeps services, advertising and subscribers, and the next program answers the requests.
    @Test func aServerIsRestored() throws {
        final class Server: NSObject, CBPeripheralManagerDelegate {
            private(set) var manager: CBPeripheralManager!
            var log: [String] = []
            var restored: [String: Any] = [:]
            init(on phone: CBPhone) {
                super.init()
                let options = [CBPeripheralManagerOptionRestoreIdentifierKey: "server"]
                manager = phone.use { CBPeripheralManager(delegate: self, queue: nil, options: options) }
            }
            func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
                log.append("restored")
                restored = dict
            }
            func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { log.append("state \(peripheral.state)") }
            func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
                log.append("read")
                request.value = Data([7])
                peripheral.respond(to: request, withResult: .success)
            }
        }
        let bench = CBBench(seed: 4)
        let (accessoryPhone, phone) = (bench.phone("accessory"), bench.phone("phone"))
        let server = Server(on: accessoryPhone)
        let central = CentralProgram(on: phone)
        #expect(bench.run { server.manager.state == .poweredOn && central.manager.state == .poweredOn })
        let rate = CBMutableCharacteristic(type: CBUUID(string: "2A37"), properties: [.read, .notify], value: nil, permissions: .readable)
        let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
        service.characteristics = [rate]
        server.manager.add(service)
        server.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
        central.manager.scanForPeripherals(withServices: nil)
        #expect(bench.run { central.peripheral?.state == .connected })
        let peripheral = try #require(central.peripheral)
        peripheral.discoverServices(nil)
        #expect(bench.run { peripheral.services?.count == 1 })
        peripheral.discoverCharacteristics(nil, for: try #require(peripheral.services?.first))
        #expect(bench.run { central.characteristic("2A37") != nil })
        let remote = try #require(central.characteristic("2A37"))
        peripheral.setNotifyValue(true, for: remote)
        #expect(bench.run { remote.isNotifying })
        accessoryPhone.endProgram()
        var next: Server?
        accessoryPhone.onLaunch = { _ in next = Server(on: accessoryPhone) }
        peripheral.readValue(for: remote)
        #expect(bench.run { central.values == [Data([7])] })
        let after = try #require(next)
        #expect(after.log == ["restored", "state poweredOn", "read"])
        #expect((after.restored[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService])?.map(\.uuid) == [service.uuid])
        #expect(after.restored[CBPeripheralManagerRestoredStateAdvertisementDataKey] is [String: Any])
        #expect(after.manager.isAdvertising)
        let kept = try #require((after.restored[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService])?.first)
        let characteristic = try #require(kept.characteristics?.first as? CBMutableCharacteristic)
        #expect(characteristic.subscribedCentrals?.count == 1)
        after.manager.updateValue(Data([8]), for: characteristic, onSubscribedCentrals: nil)
        #expect(bench.run { central.values.last == Data([8]) })
    }
}
