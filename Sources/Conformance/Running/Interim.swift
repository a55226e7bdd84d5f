import Simulation
import Transport

extension Simulation {
    func addController(_ configuration: ControllerConfiguration, on end: any HCITransport) throws -> ControllerID { throw TransportError.busy("") }
}
