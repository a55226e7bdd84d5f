import BBBench
import BBHost
import BBTiming
import BBTransport

/// A host on one device in real time, for the interactive tools.
enum HostSession {
    /// Opens the device, starts a host on it, runs `body` and stops all activity of the controller. A signal ends `body`, a second one the
    /// process.
    ///
    /// - Parameters:
    ///   - name: the Device Name that peers can read.
    ///   - database: makes the GATT database, instead of one with only that name.
    ///   - prepare: configures the host before it starts.
    static func run(
        on device: String, firmware: FirmwareOptions, named name: String = "bluebench", database: ((RunLoop) -> GATTDatabase)? = nil,
        prepare: @escaping (Host) -> Void = { _ in },
        _ body: @escaping (Host) async throws -> Void
    ) throws {
        // Threads inherit its signal mask.
        let signals = SignalHandler()
        do {
            let selector = try DeviceSelector(device)
            let loop = RunLoop(mode: selector.isInVirtualTime ? .virtual : .wall, watchesDescriptors: true)
            let device = try firmware.open(selector, on: loop)
            let host = device.host(on: loop, database: database?(loop) ?? GATTDatabase(deviceName: name))
            prepare(host)
            try loop.run {
                let work = loop.start {
                    try await host.start()
                    if let missing = host.learned[.firmwareMissing] { Console.complain("\(device.name): \(missing.text)") }
                    try await body(host)
                }
                signals.onStop(on: loop) { work.cancel() }
                await work.ended()
                await host.leave()
                // The server treats the end of a connection without BYE as a fault.
                if selector.isInVirtualTime { device.transport.close() }
                try await work.value()
            }
        } catch {
            throw CommandFailure(error)
        }
    }
}
