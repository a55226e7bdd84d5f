import Host
import Packets
import Timing

/// The work of `bluebench scan --bredr`: who can be found by inquiry, and by which name.
final class InquirySession {
    private let host: Host
    private let wait: WaitLine

    init(_ host: Host) {
        self.host = host
        wait = WaitLine(on: host.loop, isSilent: false)
    }

    /// - Parameters:
    ///   - seconds: how long to inquire; a controller counts in 1.28 s.
    ///   - most: devices after which it is enough.
    ///   - asksNames: asks those for their name that have not told it.
    func run(seconds: Int, most: Int?, asksNames: Bool) async throws {
        defer { wait.end() }
        var settings = InquirySettings()
        settings.length = UInt8(clamping: min(48, max(1, Int((Double(seconds) / 1.28).rounded(.up)))))
        settings.mostResponses = UInt8(clamping: most ?? 0)
        let length = Microseconds.milliseconds(1_280) * Int(settings.length)
        wait.begin("inquiring", until: host.loop.now + length)
        let inquiry = try await host.inquire(settings) { [unowned self] in
            wait.end()
            Console.line(Self.line($0))
        }
        let found = try await inquiry.ended()
        wait.end()
        let nameless = asksNames ? found.filter { $0.name == nil } : []
        for result in nameless {
            wait.begin("asking \(Self.address(result)) for its name", until: host.loop.now + .seconds(6))
            await tellName(of: result)
        }
        Console.line("\(found.count) \(found.count == 1 ? "device" : "devices")")
    }

    private func tellName(of result: InquiryResult) async {
        do {
            let name = try await host.name(of: result.address, found: result)
            wait.end()
            Console.line("\(Self.address(result))  is '\(PlainText.escaped(name))'")
        } catch {
            wait.end()
            Console.line("\(Self.address(result))  does not tell its name: \(error)")
        }
    }

    private static func address(_ result: InquiryResult) -> String { DeviceAddress(result.address, kind: .public).argument }

    private static func line(_ result: InquiryResult) -> String {
        var words = [address(result)]
        if let rssi = result.rssi { words.append("\(rssi) dBm") }
        words.append("class \(Hex.number(result.classOfDevice, bits: 24))")
        if let name = result.name { words.append("'\(PlainText.escaped(name))'") }
        if let services = result.data?.serviceUUIDs, !services.isEmpty { words.append(services.map { "\($0)" }.joined(separator: " ")) }
        return words.joined(separator: "  ")
    }
}
