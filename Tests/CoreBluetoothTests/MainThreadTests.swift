import Synchronization
import XCTest

@testable import CoreBluetooth

/// A bench on the main thread, as in XCTest and in command-line programs: it serves the main queue and the main run loop itself.
final class MainThreadTests: XCTestCase {
    private final class App: NSObject, CBCentralManagerDelegate {
        private(set) var manager: CBCentralManager!
        private(set) var log: [String] = []
        private var timer: Timer?

        init(on phone: CBPhone) {
            super.init()
            manager = phone.use { CBCentralManager(delegate: self, queue: .main) }
        }

        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            guard central.state == .poweredOn else { return }
            central.scanForPeripherals(withServices: nil)
            let app = Carried(self)
            timer = Timer.scheduledTimer(withTimeInterval: 10, repeats: false) { _ in app.value.stop() }
            DispatchQueue.main.asyncAfter(deadline: .now() + 4) { app.value.log.append("asyncAfter") }
            Task { @MainActor in
                try await ContinuousClock().sleep(for: .seconds(6))
                app.value.log.append("task")
            }
        }

        private func stop() {
            manager.stopScan()
            log.append("timer")
        }
    }

    /// The delegate is due on the main queue while the main thread runs the bench: it is called, and its timers follow.
    func testADelegateOnMainIsCalledAndItsTimersFollow() {
        let bench = CBBench(strict: true)
        let app = App(on: bench.phone("phone"))
        XCTAssertTrue(bench.run { app.manager.isScanning })
        XCTAssertTrue(bench.run(within: 11) { !app.manager.isScanning })
        XCTAssertEqual(app.log, ["asyncAfter", "task", "timer"])
        XCTAssertLessThan(bench.now, 11)
        XCTAssertNoThrow(try bench.check())
    }

    /// Without a queue the delegate is called on the main thread, if the bench is there.
    func testWithoutAQueueCallsComeOnTheMainThread() {
        final class Listener: NSObject, CBCentralManagerDelegate {
            var isMain: [Bool] = []
            func centralManagerDidUpdateState(_ central: CBCentralManager) { isMain.append(Thread.isMainThread) }
        }
        let (bench, listener) = (CBBench(), Listener())
        let manager = bench.phone("phone").use { CBCentralManager(delegate: listener, queue: nil) }
        XCTAssertTrue(bench.run { manager.state == .poweredOn })
        XCTAssertEqual(listener.isMain, [true])
    }

    /// A misuse ends the run of a strict bench, and a test of this framework can fail for it.
    func testAMisuseIsCaught() {
        let bench = CBBench(strict: true)
        let (phone, lines) = (bench.phone("phone"), Lines(bench.phone("other")))
        phone.use { CBCentralManager() }.scanForPeripherals(withServices: nil)
        XCTAssertFalse(bench.run { true })
        XCTAssertThrowsError(try bench.check()) { XCTAssertEqual(($0 as? CBBenchMisuse)?.phone, "phone") }
        XCTAssertEqual(lines.all, [])
    }
}
