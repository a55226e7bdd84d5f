import CoreBluetooth
import Sensor

// A heart rate sensor: sends a value each 100 ms to those that subscribe, and ends when the last one has left. On Linux the variable
// BLUEBENCH_DEVICE selects the device.
let sensor = HeartRateSensor()
let end = Date(timeIntervalSinceNow: 120)
var beats: UInt8 = 60
var isAdvertising = false
while Date() < end {
    if case .failed = sensor.phase { break }
    RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.1))
    if !isAdvertising, sensor.phase == .advertising {
        isAdvertising = true
        FileHandle.standardOutput.write(Data("advertising\n".utf8))
    }
    if sensor.subscriptions > 0, sensor.subscribers.isEmpty { break }
    guard !sensor.subscribers.isEmpty, sensor.isIdle else { continue }
    beats = beats < 180 ? beats + 1 : 61
    sensor.send(beats)
}
print("\(sensor.phase): \(sensor.subscriptions) subscriptions, \(sensor.energy) kJ")
exit(sensor.subscriptions > 0 ? 0 : 1)
