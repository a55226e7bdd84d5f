import Capture
import Packets
import Simulation
import Timing
import Transport

/// Controllers of one simulation, with one air between them.
public final class SimulatedBackend: DongleBackend {
    public let configurations: [ControllerConfiguration]
    public var count: Int { configurations.count }

    private let simulation: Simulation
    private let loop: RunLoop
    private let capture: CaptureLog?
    private var interfaces: [Int] = []

    /// - Parameter capture: gets every packet of every controller.
    public init(
        _ simulation: Simulation, configurations: [ControllerConfiguration], capture: CaptureLog? = nil, on loop: RunLoop
    ) throws(CaptureError) {
        self.simulation = simulation
        self.configurations = configurations
        self.capture = capture
        self.loop = loop
        if let capture {
            for index in configurations.indices { interfaces.append(try capture.addController("controller \(index)")) }
        }
    }

    public func attach(_ index: Int, to end: any HCITransport) throws {
        var end = end
        if let capture { end = CaptureTransport(end, into: capture, interface: interfaces[index], heldBy: .controller, on: loop) }
        try simulation.addController(configurations[index], on: end)
    }
}
