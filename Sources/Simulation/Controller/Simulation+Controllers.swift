import BBPackets
import BBTiming
import BBTransport

extension Simulation {
    /// Creates a virtual controller on one end of a pipe whose other end belongs to a host. When the pipe closes, the controller is reset
    /// and removed.
    ///
    /// - Throws: `TransportError` if the pipe cannot be opened.
    @discardableResult
    public func addController(_ configuration: ControllerConfiguration, on end: any HCITransport) throws(TransportError) -> ControllerID {
        let radio = air.makeRadio()
        let identifier = ControllerID(rawValue: radio.identifier)
        let controller = Controller(identifier, configuration: configuration, radio: radio, seed: seed, pipe: end)
        controller.onUnknownCommand = onUnknownCommand.map { tell in { tell(configuration.address, $0) } }
        controller.reset()
        let port = ControllerPort(controller) { [weak self] in self?.forget(identifier) }
        ports[identifier] = port
        do throws(TransportError) {
            try end.open(port)
        } catch {
            ports[identifier] = nil
            throw error
        }
        return identifier
    }

    /// All controllers of the simulation.
    public var controllers: [ControllerID] { ports.keys.sorted { $0.rawValue < $1.rawValue } }

    private func forget(_ identifier: ControllerID) { ports[identifier] = nil }

    func controller(_ identifier: ControllerID) -> Controller? { ports[identifier]?.controller }
}

/// The controller's end of an HCI pipe.
final class ControllerPort: HCITransportSink {
    let controller: Controller
    private let onClose: () -> Void

    init(_ controller: Controller, onClose: @escaping () -> Void) {
        self.controller = controller
        self.onClose = onClose
    }

    func received(_ packet: HCIPacket, at time: Microseconds) { controller.receive(packet) }

    func closed(_ reason: TransportError) {
        controller.powerOff()
        onClose()
    }
}
