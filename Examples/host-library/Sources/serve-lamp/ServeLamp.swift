import Bluebench
import Foundation
import Lamp

/// A peripheral on a device: `serve-lamp usb:1-2`, `serve-lamp tcp:127.0.0.1:6401`.
@main
enum ServeLamp {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 2 else { leave("usage: serve-lamp DEVICE") }
        do { try serve(on: arguments[1]) } catch { leave("\(error)") }
    }

    private static func serve(on device: String) throws {
        let bench = try Bench(for: device)
        defer { bench.close() }
        try bench.run {
            let lamp = Lamp(on: try await bench.open(device, named: "Lamp"))
            print("advertising")
            fflush(nil)
            try await lamp.run()
        }
    }

    private static func leave(_ text: String) -> Never {
        FileHandle.standardError.write(Data((text + "\n").utf8))
        exit(1)
    }
}
