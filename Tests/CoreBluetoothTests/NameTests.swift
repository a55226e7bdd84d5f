import Testing

@testable import CoreBluetooth

/// The names of a device: the advertised one, and its Device Name.
@Suite struct NameTests {
    /// Once a phone has read the Device Name, that is the name; a program is told when it changes, and only then.
    @Test func theDeviceNameIsTheNameOnceItIsRead() throws {
        let pair = Pair()
        pair.central.manager.scanForPeripherals(withServices: nil)
        #expect(pair.run { pair.central.peripheral != nil })
        let peripheral = try #require(pair.central.peripheral)
        #expect(peripheral.name == "monitor" && pair.central.names.isEmpty)
        #expect(pair.run { !pair.central.names.isEmpty })
        #expect(peripheral.name == "accessory" && pair.central.names == ["accessory"])
        for (name, names) in [("accessory", ["accessory"]), ("kitchen", ["accessory", "kitchen"])] {
            pair.accessoryPhone.rename(name)
            pair.central.manager.cancelPeripheralConnection(peripheral)
            #expect(pair.run { peripheral.state == .disconnected })
            pair.central.manager.connect(peripheral)
            #expect(pair.run { peripheral.state == .connected })
            pair.bench.run(for: 5)
            #expect(pair.central.names == names)
        }
        // Another manager, and a later scan, know the same name.
        let other = CentralProgram(on: pair.phone)
        #expect(pair.run { other.manager.state == .poweredOn })
        #expect(other.manager.retrievePeripherals(withIdentifiers: [peripheral.identifier]).first?.name == "kitchen")
        pair.central.log.removeAll()
        pair.central.manager.cancelPeripheralConnection(peripheral)
        pair.central.connects = false
        pair.central.manager.stopScan()
        pair.bench.run(for: 1)
        pair.central.manager.scanForPeripherals(withServices: nil)
        #expect(pair.run { pair.central.log.contains("discovered kitchen") })
        #expect(pair.central.advertisements.last?[CBAdvertisementDataLocalNameKey] as? String == "monitor")
    }
}
