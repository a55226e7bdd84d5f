import BBBench
import BBHost
import BBPackets
import BBTiming
import BBTransport

/// The trial of a host on one device: start, scan, advertise and close.
enum StartTrial {
    /// The result for one device.
    struct Outcome: Codable {
        var device: String
        /// The reason why the host did not start.
        var impediment: String?
        /// The problem after the start.
        var trouble: String?
        var startup: String?
        var usbMode: String?
        var address: String?
        /// The kinds and texts of observed behaviour.
        var learned: [String: String] = [:]
        /// The time from opening to closing.
        var milliseconds = 0
        var isClean = true
    }

    /// - Parameter slowness: factor for the timeouts of the host.
    static func run(_ selector: DeviceSelector, _ opener: DeviceOpener, slowness: Double, on loop: RunLoop) async -> Outcome {
        var outcome = Outcome(device: "\(selector)")
        let begin = loop.now
        do {
            let device = try opener.device(selector, on: loop)
            try await device.prepare()
            let host = device.host(on: loop)
            host.limits = host.limits.scaled(by: slowness)
            defer { host.close() }
            do {
                try await host.start()
                outcome.address = "\(host.address)"
                do { try await use(host, on: loop) } catch { outcome.trouble = "\(error)" }
            } catch {
                outcome.impediment = "\(error)"
            }
            outcome.startup = device.transport.startOfPipe?.step
            outcome.usbMode = device.transport.startOfPipe?.mode
            for conduct in host.learned.all { outcome.learned[conduct.kind.rawValue] = conduct.text }
        } catch {
            outcome.impediment = "\(error)"
        }
        outcome.milliseconds = Int(saturating: (loop.now - begin).milliseconds)
        return outcome
    }

    private static func use(_ host: Host, on loop: RunLoop) async throws {
        let scan = try await host.scan()
        try await loop.sleep(for: .milliseconds(20))
        try await scan.stop()
        let set = try await host.advertise(AdvertisingSettings())
        try await loop.sleep(for: .milliseconds(20))
        try await set.stop()
    }
}
