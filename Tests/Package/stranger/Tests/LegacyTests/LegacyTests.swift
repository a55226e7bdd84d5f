import Bluebench
import CoreBluetooth.CBUUID
import XCTest

final class LegacyTests: XCTestCase {
    func testAValueIsWritten() throws {
        let bench = Bench()
        defer { bench.close() }
        try bench.run {
            let lamp = try await bench.simulated("Lamp")
            let service = lamp.publish(LocalService(0xFF00, [LocalCharacteristic(0xFF01, [.read, .write])]))
            _ = try await lamp.advertise()
            let phone = try await bench.simulated("Phone")
            try await self.write([1], with: phone)
            XCTAssertEqual(lamp.value(of: try XCTUnwrap(service[0xFF01])), [1])
        }
    }

    private func write(_ value: [UInt8], with phone: BluetoothHost) async throws {
        let connection = try await phone.connect(to: try await phone.find(named: "Lamp"))
        try await connection.write(value, to: try await connection.discover().characteristic(0xFF01))
    }

    func testTheNamesOfCoreBluetooth() {
        XCTAssertEqual(CBUUID(string: "180D").uuidString, "180D")
    }
}
