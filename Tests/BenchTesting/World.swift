import BBPackets
import BBSimulation
import BBTiming

/// Environment of one test: a loop in virtual time, a simulation on it, and hosts. After the test everything is closed, and nothing may be
/// left over.
public final class World {
    public let loop = RunLoop()
    public let simulation: Simulation
    public private(set) var hosts: [RawHost] = []
    private var endings: [() async throws -> Void] = []

    public init(seed: UInt64 = 1) { simulation = Simulation(loop: loop, seed: seed) }

    /// The address of each raw host's controller.
    public static func address(_ index: Int) -> DeviceAddress { DeviceAddress(value: 0xC0_0000_0000_00 + UInt64(index)) }

    /// - Parameters:
    ///   - count: number of raw hosts, each with a controller like the template.
    ///   - seed: determines every random choice.
    @discardableResult
    public static func run<Value>(
        hosts count: Int = 0, seed: UInt64 = 1, template: ControllerConfiguration = ControllerConfiguration(address: address(0)),
        _ body: @escaping (World) async throws -> Value
    ) throws -> Value {
        try run(templates: Array(repeating: template, count: count), seed: seed, body)
    }

    /// - Parameter templates: one for each raw host's controller.
    @discardableResult
    public static func run<Value>(
        templates: [ControllerConfiguration], seed: UInt64 = 1, _ body: @escaping (World) async throws -> Value
    ) throws -> Value {
        let world = World(seed: seed)
        for (index, template) in templates.enumerated() { try world.addHost(index, template) }
        let value = try world.loop.run {
            for host in world.hosts { try await host.openMasks() }
            return try await body(world)
        }
        try world.close()
        return value
    }

    private func addHost(_ index: Int, _ template: ControllerConfiguration) throws {
        var configuration = template
        configuration.address = Self.address(index)
        let host = RawHost(loop, try simulation.addController(configuration).host)
        try host.transport.open(host)
        hosts.append(host)
    }

    /// Registers a clean-up action; the last one runs first.
    public func atEnd(_ ending: @escaping () async throws -> Void) { endings.append(ending) }

    // MARK: End

    /// An activity was still running.
    public struct LeftOver: Error, CustomStringConvertible {
        public var description: String
    }

    /// Closes everything, and checks that no deadline is set and no activity is running.
    public func close() throws {
        try loop.run { [self] in try await end() }
        guard loop.deadlineCount == 0, loop.activityCount == 0 else {
            throw LeftOver(description: "left over: \(loop.deadlineCount) deadlines, \(loop.activityCount) activities")
        }
    }

    /// Resets the controllers of the raw hosts, checks that they are idle, and closes everything.
    private func end() async throws {
        for host in hosts { _ = try? await host.run(HCICommands.Reset()) }
        if !hosts.isEmpty {
            try await loop.sleep(for: Self.grace)
            guard simulation.isAtRest else { throw LeftOver(description: "a controller that was reset is not at rest") }
        }
        for ending in endings.reversed() { try await ending() }
        endings.removeAll()
        for host in hosts { host.transport.close() }
        try await loop.sleep(for: Self.grace)
    }

    /// The time that closed objects may take to finish.
    private static let grace = Microseconds.milliseconds(50)
}
