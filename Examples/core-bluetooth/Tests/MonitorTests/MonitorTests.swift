import CoreBluetooth
import CoreBluetoothAccessories
import Foundation
import Monitor
import Sensor
import Testing

/// The app and the monitor of `device.yaml` on one simulated air, in virtual time.
@Suite struct MonitorTests {
    let bench: CBBench
    let phone: CBPhone
    let accessory: CBAccessory
    let app: HeartRateMonitor

    init() throws {
        bench = CBBench(seed: 1)
        phone = bench.phone("phone")
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../device.yaml")
        accessory = try CBAccessory(file.path(), on: bench)
        app = phone.use { HeartRateMonitor() }
    }

    /// Runs until the app shows values.
    private func running() -> Bool {
        let count = app.rates.count
        return bench.run(within: 30) { [app] in app.phase == .running && app.rates.count > count }
    }

    private func becomes(_ phase: HeartRateMonitor.Phase, within seconds: TimeInterval) -> Bool {
        bench.run(within: seconds) { [app] in app.phase == phase }
    }

    /// True if the reset ends with this result.
    private func isReset(_ result: Bool, within seconds: TimeInterval) -> Bool {
        bench.run(within: seconds) { [app] in app.isReset == result }
    }

    @Test func itFindsTheMonitorAndShowsItsValues() {
        #expect(running())
        #expect(app.rates == [72])
        #expect(bench.run(within: 5) { app.location == 1 })
    }

    @Test func valuesGoOn() {
        #expect(running())
        bench.run(for: 60)
        #expect(app.rates.count > 50 && Set(app.rates) == [72])
    }

    @Test func aLostLinkIsRestored() {
        #expect(running())
        bench.setPacketErrorRate(1)
        #expect(becomes(.connecting, within: 10))
        bench.run(for: 120)
        bench.setPacketErrorRate(0)
        #expect(running())
        #expect(app.connections == 2)
    }

    @Test func aNoisyPlaceIsNoReasonToFail() {
        bench.setPacketErrorRate(0.2)
        #expect(running())
        bench.run(for: 60)
        #expect(app.rates.count > 40)
    }

    @Test func theMonitorEndsTheConnection() {
        #expect(running())
        accessory.disconnect()
        #expect(bench.run(within: 5) { app.phase != .running })
        #expect(running())
    }

    @Test func aSlowMonitorIsWaitedFor() {
        accessory.responseDelay = 8
        #expect(running())
        app.resetEnergy()
        bench.run(for: 7)
        #expect(app.isReset == nil)
        #expect(isReset(true, within: 20))
    }

    /// The monitor asks for a pairing, which the user accepts or refuses. The values go on.
    @Test(arguments: [true, false]) func aResetNeedsAPairing(accepts: Bool) {
        phone.answer(accepts: accepts)
        #expect(running())
        app.resetEnergy()
        #expect(isReset(accepts, within: 10))
        #expect(running())
        #expect(app.connections == 1)
    }

    @Test func aMonitorThatWasResetIsNamed() {
        #expect(running())
        app.resetEnergy()
        #expect(isReset(true, within: 10))
        accessory.forgetBonds()
        accessory.disconnect()
        #expect(becomes(.failed("forget the monitor in the settings"), within: 10))
    }

    @Test func anAppThatIsLaunchedAgainNeedsNoScan() {
        #expect(running())
        let identifier = app.identifier
        app.stop()
        bench.run(for: 2)
        let again = phone.use { HeartRateMonitor(identifier: identifier) }
        #expect(bench.run(within: 10) { again.phase == .running })
        #expect(again.identifier == identifier)
    }

    @Test(arguments: [CBManagerAuthorization.denied, .restricted]) func withoutPermissionItSaysSo(permission: CBManagerAuthorization) {
        #expect(running())
        phone.authorization = permission
        #expect(becomes(.failed("no permission"), within: 5))
        phone.authorization = .allowedAlways
        #expect(running())
    }
}

/// The two apps on one simulated air: a phone that is the sensor, and one that watches it.
@Suite struct SensorTests {
    let bench: CBBench
    let sensor: HeartRateSensor
    let app: HeartRateMonitor

    init() {
        bench = CBBench(seed: 1)
        let phones = (bench.phone("sensor"), bench.phone("phone"))
        sensor = phones.0.use { HeartRateSensor() }
        app = phones.1.use { HeartRateMonitor() }
    }

    private func isTrue(within seconds: TimeInterval, _ condition: @escaping () -> Bool) -> Bool {
        bench.run(within: seconds, until: condition)
    }

    @Test func allValuesArriveInOrder() {
        #expect(isTrue(within: 30) { app.phase == .running && app.location == 1 })
        for beats in 61...120 { sensor.send(UInt8(beats)) }
        #expect(isTrue(within: 30) { app.rates.count == 60 })
        #expect(app.rates == Array(61...120) && sensor.isIdle)
    }

    @Test func theEnergyIsReset() {
        #expect(isTrue(within: 30) { app.phase == .running })
        app.resetEnergy()
        #expect(isTrue(within: 5) { app.isReset == true })
        #expect(sensor.energy == 0)
    }

    @Test func theSensorSeesThatTheAppHasLeft() {
        #expect(isTrue(within: 30) { sensor.subscribers.count == 1 })
        app.stop()
        #expect(isTrue(within: 5) { sensor.subscribers.isEmpty })
        #expect(sensor.phase == .advertising)
    }
}
