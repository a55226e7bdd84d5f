import Testing

@testable import CoreBluetooth

/// Programs in the background.
@Suite struct BackgroundTests {
    @Test(arguments: [CBPhone.BackgroundModes.central, []]) func aCentralIsCalledInItsRoleOnly(modes: CBPhone.BackgroundModes) throws {
        let pair = Pair()
        pair.phone.backgroundModes = modes
        #expect(pair.connect())
        let rate = try #require(pair.central.characteristic("2A37"))
        pair.central.peripheral?.setNotifyValue(true, for: rate)
        #expect(pair.run { rate.isNotifying })
        pair.phone.isInBackground = true
        pair.bench.run(for: 1)
        pair.accessory.manager.updateValue(Data([5]), for: pair.accessory.rate, onSubscribedCentrals: nil)
        pair.bench.run(for: 5)
        #expect(pair.central.values == (modes.contains(.central) ? [Data([5])] : []))
        // What has waited comes in the foreground.
        pair.phone.isInBackground = false
        #expect(pair.run { pair.central.values == [Data([5])] })
        #expect(pair.central.peripheral?.state == .connected)
    }

    /// A server goes on in the background without its name, or answers with errors.
    @Test(arguments: [CBPhone.BackgroundModes.peripheral, []]) func aServerIsCalledInItsRoleOnly(modes: CBPhone.BackgroundModes) throws {
        let pair = Pair()
        pair.accessoryPhone.backgroundModes = modes
        #expect(pair.connect())
        pair.accessoryPhone.isInBackground = true
        pair.bench.run(for: 1)
        pair.central.peripheral?.readValue(for: try #require(pair.central.characteristic("2A37")))
        #expect(pair.run { pair.central.log.last?.hasPrefix("value") == true })
        #expect(pair.central.log.last == (modes.isEmpty ? "value failed" : "value"))
        pair.central.peripheral?.writeValue(
            Data([1]), for: try #require(pair.central.characteristic("2A39")), type: .withResponse)
        #expect(pair.run { pair.central.log.last?.hasPrefix("written") == true })
        #expect(pair.central.log.last == (modes.isEmpty ? "written failed" : "written"))
        let other = CentralProgram(on: pair.bench.phone("another"))
        other.connects = false
        #expect(pair.run { other.manager.state == .poweredOn })
        other.manager.scanForPeripherals(withServices: nil)
        pair.bench.run(for: 10)
        #expect(other.advertisements.count == (modes.isEmpty ? 0 : 1))
        #expect(other.advertisements.allSatisfy { $0[CBAdvertisementDataLocalNameKey] == nil })
    }

    /// A scan in the background needs services, and reports no duplicates.
    @Test(arguments: [true, false]) func aScanInTheBackgroundNeedsServices(hasServices: Bool) {
        let pair = Pair()
        pair.central.connects = false
        pair.phone.isInBackground = true
        pair.central.manager.scanForPeripherals(
            withServices: hasServices ? [CBUUID(string: "180D")] : nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        pair.bench.run(for: 10)
        #expect(pair.central.advertisements.count == (hasServices ? 1 : 0))
    }
}
