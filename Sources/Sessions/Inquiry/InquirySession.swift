import BBHost
import BBPackets
import BBTiming

/// A session that finds devices by inquiry, with their names.
package final class InquirySession {
    private let host: Host
    private let screen: any Screen

    package init(_ host: Host, on screen: any Screen) { (self.host, self.screen) = (host, screen) }

    /// - Parameters:
    ///   - seconds: the duration of the inquiry; a controller uses units of 1.28 s.
    ///   - most: the number of devices after which the inquiry ends.
    ///   - asksNames: true to request the names of devices that have not sent them.
    package func run(seconds: Int, most: Int?, asksNames: Bool) async throws {
        defer { screen.endWait() }
        var settings = InquirySettings()
        settings.length = UInt8(clamping: min(48, max(1, Int(saturating: (Double(seconds) / 1.28).rounded(.up)))))
        settings.mostResponses = UInt8(clamping: most ?? 0)
        let length = Microseconds.milliseconds(1_280) * Int(settings.length)
        screen.wait(for: "inquiring", until: host.loop.now + length)
        let inquiry = try await host.inquire(settings) { [unowned self] in
            screen.endWait()
            screen.line(Self.line($0))
        }
        let found = try await inquiry.ended()
        screen.endWait()
        let nameless = asksNames ? found.filter { $0.name == nil } : []
        for result in nameless {
            screen.wait(for: "asking \(Self.address(result)) for its name", until: host.loop.now + .seconds(6))
            await tellName(of: result)
        }
        screen.line("\(found.count) \(found.count == 1 ? "device" : "devices")")
    }

    private func tellName(of result: InquiryResult) async {
        do {
            let name = try await host.name(of: result.address, found: result)
            screen.endWait()
            screen.line("\(Self.address(result))  is '\(PlainText.escaped(name))'")
        } catch {
            screen.endWait()
            screen.line("\(Self.address(result))  does not tell its name: \(error)")
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
