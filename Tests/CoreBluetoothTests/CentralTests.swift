import CoreBluetooth
import Foundation
import Testing

/// The central role, as an application sees it.
@Suite struct CentralTests {
    @Test func anApplicationFindsConnectsAndReads() throws {
        let pair = Pair()
        #expect(pair.connect())
        let central = pair.central
        #expect(central.log == ["state poweredOn", "discovered monitor", "connected", "services", "characteristics"])
        let peripheral = try #require(central.peripheral)
        #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 512)
        #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 512)
        let location = try #require(central.characteristic("2A38"))
        peripheral.readValue(for: location)
        peripheral.readRSSI()
        #expect(pair.run { central.log.last == "rssi" })
        #expect(central.values == [Data([1])])
        // A static value is answered without the program.
        #expect(!pair.accessory.log.contains { $0.hasPrefix("read") })
    }

    @Test func advertisementDataHasTheDocumentedKeys() throws {
        let pair = Pair()
        pair.central.connects = false
        pair.central.manager.scanForPeripherals(withServices: nil)
        #expect(pair.run { !pair.central.advertisements.isEmpty })
        let data = try #require(pair.central.advertisements.first)
        #expect(data[CBAdvertisementDataLocalNameKey] as? String == "monitor")
        #expect(data["kCBAdvDataServiceUUIDs"] as? [CBUUID] == [CBUUID(string: "180D")])
        #expect((data[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue == true)
    }

    @Test func oneEventForEachDeviceAndContent() throws {
        let pair = Pair()
        pair.central.connects = false
        pair.central.manager.scanForPeripherals(withServices: nil)
        pair.bench.run(for: 5)
        #expect(pair.central.advertisements.count == 1)
        pair.accessory.manager.stopAdvertising()
        pair.bench.run(for: 1)
        pair.accessory.advertise("another")
        pair.bench.run(for: 5)
        #expect(pair.central.advertisements.count == 2)
        pair.central.manager.scanForPeripherals(withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        pair.bench.run(for: 5)
        #expect(pair.central.advertisements.count > 50)
        pair.central.manager.stopScan()
        #expect(!pair.central.manager.isScanning)
        let before = pair.central.advertisements.count
        pair.bench.run(for: 1)
        #expect(pair.central.advertisements.count == before)
    }

    @Test func aFilterAdmitsOnlyItsServices() {
        let pair = Pair()
        pair.central.manager.scanForPeripherals(withServices: [CBUUID(string: "180F")])
        pair.bench.run(for: 5)
        #expect(pair.central.found.isEmpty)
        // Asking again replaces the filter.
        pair.central.manager.scanForPeripherals(withServices: [CBUUID(string: "180F"), CBUUID(string: "180D")])
        #expect(pair.run { pair.central.peripheral?.state == .connected })
    }

    @Test func aRequestForAConnectionHasNoTimeLimit() throws {
        let pair = Pair()
        pair.central.connects = false
        pair.central.manager.scanForPeripherals(withServices: nil)
        #expect(pair.run { pair.central.peripheral != nil })
        let peripheral = try #require(pair.central.peripheral)
        pair.accessory.manager.stopAdvertising()
        pair.bench.run(for: 1)
        for _ in 0..<5 { pair.central.manager.connect(peripheral) }
        pair.bench.run(for: 600)
        #expect(peripheral.state == .connecting)
        #expect(!pair.central.log.contains("connected"))
        pair.accessory.advertise()
        #expect(pair.run { peripheral.state == .connected })
        #expect(pair.central.log.count { $0 == "connected" } == 1)
    }

    @Test func pendingRequestsAreServedAsDevicesAppear() throws {
        let bench = CBBench(seed: 3)
        let accessories = ["one", "two", "three"].map { Accessory(on: bench.phone($0)) }
        let central = CentralProgram(on: bench.phone("phone"))
        bench.run { accessories.allSatisfy { $0.log.contains("advertising") } && central.manager.state == .poweredOn }
        central.manager.scanForPeripherals(withServices: nil)
        #expect(bench.run { central.found.count == 3 && central.found.allSatisfy { $0.state == .connected } })
        #expect(central.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180D")]).count == 3)
        #expect(central.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "1812")]).isEmpty)
    }

    @Test func identifiersAreKnownFromDiscoveryOn() throws {
        let pair = Pair()
        #expect(pair.connect())
        let identifier = try #require(pair.central.peripheral?.identifier)
        #expect(pair.central.manager.retrievePeripherals(withIdentifiers: [UUID(), identifier]).map(\.identifier) == [identifier])
        // Another manager has an object of its own for the same device.
        let other = CentralProgram(on: pair.phone)
        #expect(pair.run { other.manager.state == .poweredOn })
        let same = try #require(other.manager.retrievePeripherals(withIdentifiers: [identifier]).first)
        #expect(same !== pair.central.peripheral)
        #expect(same.identifier == identifier && same.state == .disconnected)
        // The other manager's connection is not a connection of this one.
        let lines = Lines(pair.phone)
        same.discoverServices(nil)
        pair.bench.run(for: 2)
        #expect(same.services == nil && other.log == ["state poweredOn"])
        #expect(lines.all.count == 1 && lines.all[0].contains("can only accept commands while in the connected state"))
        other.manager.connect(same)
        #expect(pair.run { other.log.contains("connected") })
        // The link stays while another manager uses it.
        pair.central.manager.cancelPeripheralConnection(try #require(pair.central.peripheral))
        #expect(pair.run { pair.central.log.contains("disconnected") })
        pair.bench.run(for: 5)
        #expect(same.state == .connected)
        #expect(!other.log.contains("disconnected"))
    }

    @Test func aLostLinkIsReportedWithItsError() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.accessoryPhone.isPoweredOn = false
        #expect(pair.run { pair.central.log.contains("disconnected failed") })
        #expect(pair.central.peripheral?.state == .disconnected)
        #expect(CBError.peripheralDisconnected ~= (try #require(pair.central.errors.last)))
        #expect(pair.accessory.log.last == "state poweredOff")
        pair.bench.setPacketErrorRate(0)
        pair.accessoryPhone.isPoweredOn = true
        pair.central.manager.connect(try #require(pair.central.peripheral))
        #expect(pair.run { pair.central.peripheral?.state == .connected })
        pair.bench.setPacketErrorRate(1)
        #expect(pair.run { pair.central.errors.count == 2 })
        #expect(CBError.connectionTimeout ~= (try #require(pair.central.errors.last)))
    }

    @Test func aReleasedPeripheralIsDisconnected() {
        let pair = Pair()
        #expect(pair.connect())
        pair.central.found.removeAll()
        pair.bench.run(for: 2)
        #expect(pair.central.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180D")]).isEmpty)
    }

    @Test func commandsBeforePoweredOnAndOfStrangersHaveNoEffect() throws {
        let bench = CBBench()
        let central = CentralProgram(on: bench.phone("phone"))
        central.manager.scanForPeripherals(withServices: nil)
        #expect(!central.manager.isScanning)
        #expect(central.manager.retrievePeripherals(withIdentifiers: [UUID()]).isEmpty)
        #expect(central.log.isEmpty)
        bench.run { central.manager.state == .poweredOn }
        #expect(central.log == ["state poweredOn"])
    }

    @Test func leaveAndPowerChangeTheState() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.phone.authorization = .denied
        #expect(pair.run { pair.central.manager.state == .unauthorized })
        #expect(pair.central.manager.authorization == .denied)
        #expect(pair.central.peripheral?.state == .disconnected)
        pair.phone.authorization = .allowedAlways
        pair.phone.isPoweredOn = false
        #expect(pair.run { pair.central.manager.state == .poweredOff })
        pair.phone.isPoweredOn = true
        #expect(pair.run { pair.central.manager.state == .poweredOn })
    }

    /// A program's own queue is used for each call, in virtual time, too.
    @Test func callsComeOnTheQueueOfTheManager() {
        let key = DispatchSpecificKey<Int>()
        let queue = DispatchQueue(label: "of the program")
        queue.setSpecific(key: key, value: 7)
        let bench = CBBench()
        final class Listener: NSObject, CBCentralManagerDelegate {
            let key: DispatchSpecificKey<Int>
            var seen: [Int?] = []
            init(key: DispatchSpecificKey<Int>) { self.key = key }
            func centralManagerDidUpdateState(_ central: CBCentralManager) { seen.append(DispatchQueue.getSpecific(key: key)) }
        }
        let listener = Listener(key: key)
        let manager = bench.phone("phone").use { CBCentralManager(delegate: listener, queue: queue) }
        bench.run { manager.state == .poweredOn }
        #expect(listener.seen == [7])
    }
}
