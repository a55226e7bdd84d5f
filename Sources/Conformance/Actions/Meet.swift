import BBCases
import BBHost
import BBPackets
import BBTiming

/// Finds a device by its name and connects to it.
enum Meet: NamedAction {
    static let name = "meet"
    static let about = "the host finds a device by its name and connects to it; repeated if CONNECT_IND is lost"
    static let deviceName = TypedArgument.octets("name", default: Array(TestCase.referenceName.utf8), "part of its advertising data")
    static let interval = TypedArgument.number(
        "interval", HCICommands.LEConnectionUpdate.connectionIntervalMinRange.integers, default: 12, "N x 1.25 ms")
    static var arguments: [ActionArgument] { [deviceName.declaration, interval.declaration] }
    static let results = ["handle", "address", "resolvable"]
    static let needsHost = true
    private static let attempts = 5

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let driver = try context.driver()
        let address = try await find(try context(deviceName), driver, until: context.deadline)
        let interval = UInt16(clamping: try context(interval))
        var settings = ConnectSettings()
        settings.parameters = ConnectionParameterRequest(interval: interval)
        for _ in 0..<attempts {
            let link = try await driver.host.connect(to: address, settings)
            // A new connection is abandoned after six intervals without a packet. Core Vol 6, Part B, 4.5.2.
            try await driver.loop.sleep(for: .connectionIntervals(interval) * 8)
            guard link.isConnected else { continue }
            driver.links[link.handle.rawValue] = link
            return CaseRecord([
                ("handle", .number(Int(link.handle.rawValue))), ("address", .text(address.bdADDR.description)),
                ("resolvable", .number(address.isResolvable ? 1 : 0)),
            ])
        }
        throw StepFailure(.environment, "no connection was made")
    }

    private static func find(_ name: [UInt8], _ driver: HostDriver, until deadline: Microseconds) async throws -> DeviceAddress {
        let found = Promise<DeviceAddress>(on: driver.loop)
        let scan = try await driver.host.scan { report in
            guard let address = report.address, report.isConnectable, report.octets.contains(name) else { return }
            found.fulfil(address)
        }
        let address = try await found.value(until: deadline)
        try await scan.stop()
        return address
    }
}

/// Starts connectable advertising on the bench's host for the other side to connect.
enum Advertise: NamedAction {
    static let name = "advertise"
    static let about = "the host starts connectable advertising"
    static var arguments: [ActionArgument] { [] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        _ = try await context.driver().host.advertise(AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable)])))
        return CaseRecord()
    }
}
