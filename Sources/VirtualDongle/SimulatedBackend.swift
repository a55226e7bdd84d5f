import BBCapture
import BBPackets
import BBSimulation
import BBTiming
import BBTransport

/// Controllers of one simulation on one air.
public final class SimulatedBackend: DongleBackend {
    public let configurations: [ControllerConfiguration]
    public var count: Int { configurations.count }

    private let simulation: Simulation
    private let loop: RunLoop
    private let capture: CaptureLog?
    private let conduct: DongleConduct
    private let seed: UInt64
    private var interfaces: [Int] = []
    /// Number of openings of each controller, and the conduct in front of the attached one.
    private var openings: [Int: Int] = [:]
    /// Controllers opened by a program since they were attached.
    private var opened: Set<Int> = []
    private var fronts: [Int: WeakFront] = [:]

    private struct WeakFront {
        weak var transport: ConductTransport?
    }

    /// - Parameters:
    ///   - conduct: behaviour of all controllers.
    ///   - capture: receives every packet of every controller, as seen by its host.
    ///   - seed: determines random choices of the conduct.
    public init(
        _ simulation: Simulation, configurations: [ControllerConfiguration], conduct: DongleConduct = DongleConduct(),
        capture: CaptureLog? = nil, seed: UInt64 = 1, on loop: RunLoop
    ) throws(CaptureError) {
        self.simulation = simulation
        self.conduct = conduct
        self.seed = seed
        self.configurations = configurations.map { configuration in
            var configuration = configuration
            conduct.apply(to: &configuration)
            return configuration
        }
        self.capture = capture
        self.loop = loop
        if let capture {
            for index in configurations.indices { interfaces.append(try capture.addController("controller \(index)")) }
        }
    }

    public func attach(_ index: Int, to end: any HCITransport) throws {
        var end = end
        if let capture { end = CaptureTransport(end, into: capture, interface: interfaces[index], heldBy: .controller, on: loop) }
        openings[index, default: 0] += 1
        opened.remove(index)
        if !conduct.isEmpty {
            let front = ConductTransport(
                end, conduct: conduct, opening: openings[index] ?? 1, seed: seed &+ UInt64(index), on: loop)
            fronts[index] = WeakFront(transport: front)
            end = front
        }
        try simulation.addController(configurations[index], on: end)
    }

    public func portWasReset(_ index: Int) { fronts[index]?.transport?.portWasReset() }

    /// Reports an opening to the dongle's quirks. Attaching the dongle counts as the first one.
    public func wasOpened(_ index: Int) {
        guard !opened.insert(index).inserted else { return }
        openings[index, default: 0] += 1
        fronts[index]?.transport?.reopen(openings[index] ?? 1)
    }
}
