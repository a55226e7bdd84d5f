import Host
import Packets
import Timing

/// A host of ours above an end: an accessory at the subject's, or the actor of named actions at the tester's.
final class HostDriver {
    let host: Host
    let loop: RunLoop
    private var accessory: ReferenceAccessory?
    var links: [UInt16: Connection] = [:]

    private init(_ host: Host, loop: RunLoop) {
        self.host = host
        self.loop = loop
    }

    /// - Parameter accessory: how to serve the reference accessory; nil for no accessory.
    static func start(
        on end: Endpoint, loop: RunLoop, accessory conduct: AccessoryConduct?, faults: [ControllerSetting], rewrites: [Fault.Rewrite]
    )
        async throws
        -> HostDriver
    {
        let database = GATTDatabase(deviceName: conduct != nil ? ReferenceAccessory.name : "Bluebench Tester")
        let host = Host(loop: loop, transport: end, database: database, seed: 1)
        if let address = end.address, address.kind == .random { host.addressChoice = .fixed(address) }
        let driver = HostDriver(host, loop: loop)
        do {
            _ = try await host.start()
        } catch let error as HostError {
            throw StepFailure(.environment, "the host of the \(end.side.rawValue) does not start: \(error)")
        }
        host.quirks = try HostFaults.quirks(faults, rewrites)
        if let conduct {
            let accessory = ReferenceAccessory(host, loop: loop, conduct: conduct)
            driver.accessory = accessory
            await accessory.start()
        }
        return driver
    }

    func stop() async {
        await accessory?.stop()
        accessory = nil
    }
}
