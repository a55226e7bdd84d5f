import BBCases
import BBHost
import BBPackets

/// GAP's direct connection establishment. Core Vol 3, Part C, 9.3.8.
enum Connect: NamedAction {
    static let name = "connect"
    static let about = "the host connects to a device"
    static let address = TypedArgument.address("address", "the device's address")
    static let type = TypedArgument.number("type", 0...3, default: 0, "0 public, 1 random, 2 and 3 for a resolved identity")
    static let interval = TypedArgument.number(
        "interval", HCICommands.LEConnectionUpdate.connectionIntervalMinRange.integers, default: 24, "N x 1.25 ms")
    static var arguments: [ActionArgument] { [address.declaration, type.declaration, interval.declaration] }
    static let results = ["handle", "interval"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let driver = try context.driver()
        var settings = ConnectSettings()
        // An advertising interval may be 10.24 s.
        settings.limit = max(settings.limit, context.deadline - driver.loop.now - .milliseconds(1))
        settings.parameters = ConnectionParameterRequest(interval: UInt16(clamping: try context(interval)))
        let isPublic = try context(type).isMultiple(of: 2)
        let link = try await driver.host.connect(
            to: DeviceAddress(value: try context(address), kind: isPublic ? .public : .random), settings)
        driver.links[link.handle.rawValue] = link
        return CaseRecord([("handle", .number(Int(link.handle.rawValue))), ("interval", .number(Int(link.parameters.interval)))])
    }
}
