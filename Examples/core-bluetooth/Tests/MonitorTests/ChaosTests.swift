import CoreBluetooth
import CoreBluetoothAccessories
import Foundation
import Monitor
import Testing

/// Events after each call of an app's delegates, explored.
@Suite struct ChaosTests {
    private static func accessory(on bench: CBBench) throws -> CBAccessory {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../device.yaml")
        return try CBAccessory(file.path(), on: bench)
    }

    /// The app goes on after everything: alone, and two or three at a time.
    @Test func theMonitorSurvives() {
        let plan = CBBench.explore(tries: 60) { bench in
            let phone = bench.phone("phone")
            let accessory = try Self.accessory(on: bench)
            let app = phone.use { HeartRateMonitor() }
            defer { withExtendedLifetime(accessory) {} }
            return bench.run(within: 120) { app.rates.count >= 8 && app.phase == .running }
        }
        #expect(plan == nil, "\(plan?.description ?? "")")
    }

    /// An app with a fault: it takes no notice of changed services, after which it gets no values.
    private final class Forgetful: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
        private var central: CBCentralManager!
        private var peripheral: CBPeripheral?
        private(set) var values = 0

        override init() {
            super.init()
            central = CBCentralManager(delegate: self, queue: nil)
        }

        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "180D")]) }
        }
        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
        ) {
            self.peripheral = peripheral
            peripheral.delegate = self
            central.connect(peripheral)
        }
        func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
            central.stopScan()
            peripheral.discoverServices([CBUUID(string: "180D")])
        }
        func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
            central.connect(peripheral)
        }
        func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?) {
            central.connect(peripheral)
        }
        func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
            for service in peripheral.services ?? [] { peripheral.discoverCharacteristics([CBUUID(string: "2A37")], for: service) }
        }
        func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
            for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
        }
        func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) { values += 1 }
    }

    /// The fault is found, shrunk to one event, and repeated from what was found.
    @Test func aPlantedFaultIsFoundAndShrunk() throws {
        func works(_ bench: CBBench) throws -> Bool {
            let phone = bench.phone("phone")
            let accessory = try Self.accessory(on: bench)
            let app = phone.use { Forgetful() }
            defer { withExtendedLifetime(accessory) {} }
            return bench.run(within: 60) { app.values >= 4 }
        }
        let plan = try #require(CBBench.explore([.disconnection, .lostLink, .changedServices], tries: 20, works))
        #expect(plan.steps.map(\.disturbance) == [.changedServices])
        #expect(try !works(CBBench(plan)))
        #expect(try works(CBBench(CBBenchPlan(seed: plan.seed, []))))
    }
}
