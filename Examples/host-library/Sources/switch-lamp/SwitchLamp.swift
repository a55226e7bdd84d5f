import Bluebench
import Foundation
import Lamp

/// A central on a device: `switch-lamp usb:1-2 75` sets a lamp in range to 75 %.
@main
enum SwitchLamp {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let percent = UInt8(arguments[2]) else { leave("usage: switch-lamp DEVICE PERCENT") }
        do { try set(percent, on: arguments[1]) } catch { leave("\(error)") }
    }

    private static func set(_ percent: UInt8, on device: String) throws {
        let bench = try Bench(for: device)
        defer { bench.close() }
        try bench.run {
            let lamp = try await LampRemote.connect(with: try await bench.open(device))
            print("was \(try await lamp.read() ?? 0) %")
            do {
                print("is \(try await lamp.set(percent) ?? 0) %")
            } catch let error as BluetoothError where error.origin == .peer {
                print("refused: \(error)")
            }
            try await lamp.connection.disconnect()
        }
    }

    private static func leave(_ text: String) -> Never {
        FileHandle.standardError.write(Data((text + "\n").utf8))
        exit(1)
    }
}
