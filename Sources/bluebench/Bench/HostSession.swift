import Host
import Timing
import Transport

/// A host on one device in wall time, for the interactive tools.
enum HostSession {
    /// Opens the device, starts a host on it, runs `body` and closes.
    static func run(on device: String, firmware: FirmwareOptions, _ body: @escaping (Host) async throws -> Void) throws {
        let loop = RunLoop(mode: .wall)
        do {
            let transport = try firmware.open(DeviceSelector(device), on: loop)
            let host = Host(loop: loop, transport: transport, seed: UInt64(loop.origin.rawValue))
            try loop.run {
                do {
                    try await host.start()
                    try await body(host)
                    host.close()
                } catch {
                    host.close()
                    throw error
                }
            }
        } catch {
            throw CommandFailure(error)
        }
    }
}
