import App
import Bluebench
import CoreBluetooth
import CoreBluetoothAccessories
import Foundation
import Testing

@Suite struct AppTests {
    /// A peripheral and the app on one air.
    @Test func aLevelIsRead() throws {
        let bench = Bench()
        defer { bench.close() }
        let level = try bench.run {
            let battery = try await bench.simulated("Battery")
            battery.publish(LocalService(0x180F, [LocalCharacteristic(0x2A19, [.read, .notify], value: [87])]))
            _ = try await battery.advertise(service: 0x180F)
            return try await batteryLevel(with: try await bench.simulated("Phone"))
        }
        #expect(level == 87)
    }

    /// A bench of each library, one beside the other.
    @Test func twoBenchesRunInOneProcess() throws {
        let (air, bench) = (CBBench(seed: 2), Bench())
        defer { bench.close() }
        // The file that `bluebench survey` writes.
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../device.yaml")
        let accessory = try CBAccessory(file.path(), on: air)
        let scanner = Scanner()
        air.phone("phone").use { scanner.start() }
        try bench.run { try await bench.sleep(for: .seconds(3_600)) }
        #expect(air.run(within: 10) { scanner.names.contains(accessory.name) })
    }

    @Test func theOtherProductIsThere() { #expect(reset == [1, 3, 12, 0] || reset == [3, 12, 0]) }

    @Test func theFifteenTargetsKeepTheirNames() { #expect(own.count == 15 && own.contains("Transport")) }
}
