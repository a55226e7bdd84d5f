import CoreBluetooth
import Monitor

// Prints the first five values of a heart rate monitor in range. On Linux the variable BLUEBENCH_DEVICE selects the device.
let monitor = HeartRateMonitor()
let end = Date(timeIntervalSinceNow: 60)
var shown = 0
var hasBegun = false
while shown < 5, Date() < end {
    if case .failed = monitor.phase { break }
    // Bluetooth was switched off, or its dongle was pulled out.
    if hasBegun, monitor.phase == .off { break }
    hasBegun = monitor.phase != .off
    RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.1))
    for rate in monitor.rates.dropFirst(shown).prefix(5 - shown) {
        print("\(rate) per minute")
        shown += 1
    }
}
if shown < 5 {
    print("no values: \(monitor.phase)")
    exit(1)
}
